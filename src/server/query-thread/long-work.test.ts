/** Tests of long work: whose turn it is, and what happens when its thread is lost. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from '../../base/clock.ts'
import { silentLog } from '../../base/log.ts'
import { holding, MemoryAccount } from '../../base/memory-account.ts'
import { LongWork } from './long-work.ts'
import type { Ask } from './query-messages.ts'
import { ThreadLost, WorkThread } from './work-thread.ts'

const ask = { kind: 'sort' } as Ask

/** Is lost a number of times before it answers. */
class LostThread extends WorkThread {
  #losses: number
  readonly #isForOthers: boolean

  constructor(losses: number, isForOthers: boolean) {
    super(() => assert.fail('No thread is needed.'), silentLog)
    this.#losses = losses
    this.#isForOthers = isForOthers
  }

  override async ask(): Promise<unknown> {
    if (this.#losses-- > 0) throw new ThreadLost('lost', this.#isForOthers)
    return 'answered'
  }
}

test('work whose thread is ended because of others is done again, however often that happens', async () => {
  await using work = new LongWork(() => new LostThread(5, true))
  assert.equal(await work.do(ask, {}), 'answered')
})

test('work that may be what ends its thread is done again once', async () => {
  await using once = new LongWork(() => new LostThread(1, false))
  assert.equal(await once.do(ask, {}), 'answered')
  await using twice = new LongWork(() => new LostThread(2, false))
  await assert.rejects(twice.do(ask, {}), ThreadLost)
})

/** Answers when it is told to. */
class SlowThread extends WorkThread {
  readonly #begun: (ask: Ask, answer: () => void) => void

  constructor(begun: (ask: Ask, answer: () => void) => void) {
    super(() => assert.fail('No thread is needed.'), silentLog)
    this.#begun = begun
  }

  override ask(asked: Ask): Promise<unknown> {
    return new Promise(resolve => this.#begun(asked, () => resolve(undefined)))
  }
}

const named = (name: string) => ({ kind: 'sort', name }) as unknown as Ask

test('connections take turns, and what is given up does not wait for its turn', async () => {
  const begun: string[] = []
  const answers: (() => void)[] = []
  await using work = new LongWork(
    () =>
      new SlowThread((asked, answer) => {
        begun.push((asked as unknown as { name: string }).name)
        answers.push(answer)
      }),
  )
  const account = new MemoryAccount(1e9)
  const [many, one] = [account.share().hold('work'), account.share().hold('work')]
  const stop = new AbortController()
  const done = ['a', 'b', 'c', 'd'].map(name => holding(many, () => work.do(named(name), {})))
  const given = holding(many, () => work.do(named('given up'), { signal: stop.signal }))
  done.push(holding(one, () => work.do(named('one'), {})))
  stop.abort(new Error('nobody waits'))
  await assert.rejects(given, /nobody waits/)
  for (let answered = 0; answered < 5; answered++) {
    answers.shift()!()
    await new Promise<void>(resolve => machine.setImmediate(resolve))
  }
  await Promise.all(done)
  assert.deepEqual(begun, ['a', 'b', 'c', 'one', 'd'])
})

test('a connection may let so much long work wait, and others may still ask', async () => {
  const answers: (() => void)[] = []
  await using work = new LongWork(() => new SlowThread((_, answer) => answers.push(answer)))
  const account = new MemoryAccount(1e9)
  const many = account.share().hold('work')
  const waiting = Array.from({ length: 130 }, () => holding(many, () => work.do(ask, {})))
  await assert.rejects(
    holding(many, () => work.do(ask, {})),
    { kind: 'throttled' },
  )
  waiting.push(work.do(ask, {}))
  while (answers.length > 0) {
    answers.shift()!()
    await new Promise<void>(resolve => machine.setImmediate(resolve))
  }
  await Promise.all(waiting)
})
