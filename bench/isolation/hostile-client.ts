/** The hostile client: a process that repeats one work on several connections until it is told to leave. */

import { type Asker, type Outcome, openAsker, type Ports } from './asking.ts'
import { works } from './works.ts'

export type ToHostile =
  | { readonly begin: string; readonly ports: Ports }
  /** Ends all connections, with whatever they are waiting for. */
  | { readonly leave: true }
  /** Asks once. */
  | { readonly once: string; readonly ports: Ports; readonly more: object }

export type FromHostile =
  | { readonly begun: true }
  | { readonly left: true; readonly answers: number; readonly last: Outcome | undefined }
  | { readonly outcome: Outcome; readonly ms: number }
  | { readonly error: string }

/** Two processor cores, so two connections keep the server busy. */
const connectionsDefault = 2

let askers: Asker[] = []
let isOver = false
let answers = 0
let last: Outcome | undefined

async function repeat(asker: Asker): Promise<void> {
  while (!isOver) {
    last = await asker.ask(answers)
    answers += 1
  }
}

async function answer(message: ToHostile): Promise<FromHostile> {
  if ('leave' in message) {
    isOver = true
    for (const asker of askers) asker.leave()
    return { left: true, answers, last }
  }
  const name = 'begin' in message ? message.begin : message.once
  const work = works.find(each => each.name === name)!
  if ('once' in message) {
    const asker = await openAsker(message.ports, work)
    askers = [asker]
    const startMs = performance.now()
    const outcome = await asker.ask(0, message.more)
    asker.leave()
    return { outcome, ms: performance.now() - startMs }
  }
  isOver = false
  answers = 0
  last = undefined
  const { connections = connectionsDefault } = work
  askers = await Promise.all(Array.from({ length: connections }, () => openAsker(message.ports, work)))
  for (const asker of askers)
    void repeat(asker).catch(error => {
      last = { code: -1, text: String(error) }
    })
  return { begun: true }
}

process.on('message', (message: ToHostile) => {
  answer(message).then(
    reply => process.send?.(reply),
    error => process.send?.({ error: String(error) } satisfies FromHostile),
  )
})
