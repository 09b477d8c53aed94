/**
 * Point reads and creates over a million items, without and with an open page of the explorer, by turns: what
 * the page costs the server.
 */

import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../../test/support/browser.ts'
import { type Recording, Replay, record, type Screen, sleep } from '../explorer-visit.ts'
import type { LoadOrder } from '../load.ts'
import { cpuUs } from '../processes.ts'
import { difference, type Finding, figure, median, medianOfKnown, quotient } from '../report.ts'
import { DATABASE, itemBody } from '../requests.ts'
import { scratchFolder, startMayfly } from '../targets.ts'
import { measure } from '../throughput.ts'
import type { Workload } from '../workload.ts'
import { runMayfly } from './import.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
/** Every tenth item has a ttl of its own, between these: so items die while the page is open. */
const OWN_TTL_S = { min: 300, max: 7200 }
const CLOSED = 'no page'
const RESTING = 'resting'
/** How much more of the server's time an operation may take while a page is open. */
const COST_BOUND = 1.05

const at = (screen: string) => `data/${DATABASE}/${CONTAINER}/${screen}`
const SCREENS: Readonly<Record<string, Screen>> = {
  items: { path: at('items'), waitsFor: '.gr[data-key]' },
  'items, scrolled': { path: at('items'), waitsFor: '.gr[data-key]', visit: scroll },
  expiry: { path: at('expiry'), waitsFor: '.chart-box canvas' },
  load: { path: at('load'), waitsFor: '.chart-box canvas' },
  feed: { path: at('feed'), waitsFor: '.toolbar' },
}

/** As a person scrolls: some rows, again and again. */
async function scroll(page: Page): Promise<void> {
  await page.locator('.grid').evaluate(grid => grid.scrollBy(0, 600))
}

interface Round {
  readonly opsPerSecond: number
  readonly cpuUsPerOp: number | undefined
}

interface Visit {
  readonly callsPerSecond: number
  readonly kilobytesPerSecond: number
  /** Of a core, while nobody else asks. */
  readonly restingShare: number | undefined
}

export const explorer: Workload = {
  name: 'explorer',
  async run({ load, quick }) {
    const items = quick ? 5_000 : 1_000_000
    const rounds = quick ? 1 : 8
    const ms = quick ? 500 : 2_000
    using folder = scratchFolder()
    await using server = await startMayfly(folder.path)
    const endpoint = `http://127.0.0.1:${server.port}`
    await fillWithLives(endpoint, items)

    let created = 0
    const orders: Readonly<Record<string, () => Pick<LoadOrder, 'requests' | 'answers'>>> = {
      'point reads': () => ({
        requests: { kind: 'read', container: CONTAINER, items: Math.min(items, 100_000) },
        answers: { status: 200 },
      }),
      creates: () => ({
        requests: { kind: 'create', container: CONTAINER, firstItem: items + created, bytes: ITEM_BYTES },
        answers: { status: 201 },
      }),
    }
    const run = async (name: string): Promise<Round> => {
      const { done, ...round } = await measure(load, { name, server }, { ...orders[name]!(), atMost: { ms } })
      if (name === 'creates') created += done
      return round
    }
    const names = Object.keys(orders)
    const phases = { [RESTING]: () => sleep(ms), ...Object.fromEntries(names.map(name => [name, () => run(name)])) }
    const recordings = await recordAll(endpoint, phases)

    const measured = new Map<string, Round[]>()
    const visits = new Map<string, Visit[]>()
    for (let round = 0; round < rounds; round++) {
      const screens = [CLOSED, ...Object.keys(SCREENS)]
      // A create costs a little more with each one before. So who was first is last in the next round.
      for (const screen of round % 2 === 0 ? screens : screens.toReversed()) {
        using replay = new Replay(endpoint, recordings.get(screen))
        const before = cpuUs(server.pid)
        await replay.during(RESTING, () => sleep(ms))
        const restingShare = quotient(difference(cpuUs(server.pid), before), ms * 1000)
        for (const name of names) into(measured, `${screen} ${name}`, await replay.during(name, () => run(name)))
        const seconds = ((1 + names.length) * ms) / 1000
        const kilobytesPerSecond = replay.bytes / 1000 / seconds
        into(visits, screen, { callsPerSecond: replay.calls / seconds, kilobytesPerSecond, restingShare })
      }
    }
    const rows = [CLOSED, ...Object.keys(SCREENS)].map(screen => {
      const cells = names.flatMap(name => {
        const found = measured.get(`${screen} ${name}`)!
        const cpu = medianOfKnown(found.map(({ cpuUsPerOp }) => cpuUsPerOp))
        return [figure(median(found.map(({ opsPerSecond }) => opsPerSecond))), figure(cpu, 1)]
      })
      const seen = visits.get(screen)!
      const resting = medianOfKnown(seen.map(({ restingShare }) => restingShare))
      return [
        screen,
        ...cells,
        figure(median(seen.map(({ callsPerSecond }) => callsPerSecond)), 1),
        figure(median(seen.map(({ kilobytesPerSecond }) => kilobytesPerSecond)), 1),
        figure(resting && 100 * resting, 2),
      ]
    })
    return {
      title:
        `explorer: point reads and creates over ${figure(items)} items of 1 KB, without and with an open page, ` +
        `${rounds} rounds of ${ms} ms by turns`,
      columns: ['page', 'reads/s', 'CPU us/read', 'creates/s', 'CPU us/create', 'calls/s', 'KB/s', 'resting, %'],
      rows,
      findings: names.flatMap(name => Object.keys(SCREENS).map(screen => costOf(measured, screen, name))),
      notes: [
        'page: what a page in a real browser asked under the same load, asked again at the same times, with its live',
        'connection. calls and KB: besides and with that. resting: the server without others, in % of a core',
      ],
    }
  },
}

async function recordAll(
  endpoint: string,
  phases: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<ReadonlyMap<string, Recording>> {
  const launched = await launchBrowser()
  if (launched.browser === undefined) throw new Error(`no Chromium: ${launched.reason}`)
  await using browser = launched.browser
  const recordings = new Map<string, Recording>()
  for (const [name, screen] of Object.entries(SCREENS)) {
    recordings.set(name, await record(browser, endpoint, screen, phases))
  }
  return recordings
}

async function fillWithLives(endpoint: string, count: number): Promise<void> {
  using files = scratchFolder()
  const path = join(files.path, 'items.jsonl')
  const file = openSync(path, 'w')
  for (let from = 0; from < count; from += 1000) {
    const rows = Array.from({ length: Math.min(1000, count - from) }, (_, index) => bodyWithLife(from + index))
    writeSync(file, `${rows.join('\n')}\n`)
  }
  closeSync(file)
  const target = ['--database', DATABASE, '--container', CONTAINER, '--partition-key', '/pk', '--ttl', '1d']
  await runMayfly(['import', path, ...target, '--endpoint', endpoint])
}

function bodyWithLife(item: number): string {
  const body = itemBody(item, ITEM_BYTES)
  if (item % 10 !== 0) return body
  return `${body.slice(0, -1)},"ttl":${OWN_TTL_S.min + ((item * 7919) % (OWN_TTL_S.max - OWN_TTL_S.min))}}`
}

function into<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name) ?? []
  list.push(value)
  lists.set(name, list)
}

function costOf(measured: ReadonlyMap<string, readonly Round[]>, screen: string, name: string): Finding {
  const cpuOf = (each: string) => measured.get(`${each} ${name}`)!.map(({ cpuUsPerOp }) => cpuUsPerOp)
  const [open, closed] = [cpuOf(screen), cpuOf(CLOSED)]
  const single = open.map((cpu, index) => quotient(cpu, closed[index])).filter(each => each !== undefined)
  return {
    text: `${name}: CPU us/op with ${screen} open / ${CLOSED}`,
    value: quotient(medianOfKnown(open), medianOfKnown(closed)),
    ...(single.length > 0 && { range: [Math.min(...single), Math.max(...single)] }),
    bound: { atMost: COST_BOUND },
  }
}
