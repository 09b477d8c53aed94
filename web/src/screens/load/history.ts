/** The load of the last hour, second by second: the server's first answer, and the live events since. */

import type { LoadHistory } from '../../api/shapes.ts'

/** One second, as the live events tell it. */
export interface Second {
  second: number
  requests: number
  requestRu: number
  purgeRu: number
  throttled: number
  removed: number
  dead: number | null
  lagSeconds: number | null
}

export const historySecondsMax = 3600

const columns = ['requests', 'requestRu', 'purgeRu', 'throttled', 'removed', 'dead', 'lagSeconds'] as const

/** The history with one more second; seconds that nobody told were quiet ones. */
export function withSecond(history: LoadHistory, next: Second): LoadHistory {
  const missing = next.second - history.endSecond - 1
  if (missing < 0 || history.stepSeconds !== 1) return history
  const gap = Math.min(missing, historySecondsMax)
  const grown: LoadHistory = { ...history, endSecond: next.second }
  for (const column of columns) {
    const quiet = column === 'dead' || column === 'lagSeconds' ? null : 0
    const values = [...history[column], ...Array<null | 0>(gap).fill(quiet), next[column]]
    Object.assign(grown, { [column]: values.slice(-historySecondsMax) })
  }
  return grown
}

/** The last seconds of a history. */
export function lastSeconds(history: LoadHistory, seconds: number): LoadHistory {
  const cut: LoadHistory = { ...history }
  const steps = Math.ceil(seconds / history.stepSeconds)
  for (const column of columns) Object.assign(cut, { [column]: history[column].slice(-steps) })
  return cut
}

/** Where nobody looked, the number is what it was before. */
export function filled(values: readonly (number | null)[]): number[] {
  let last = values.find(value => value !== null) ?? 0
  return values.map(value => {
    last = value ?? last
    return last
  })
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length
}

/** The share of the provisioned RU at which requests take "nearly all". */
const nearlyAll = 0.95
/** The seconds over which the rate of removals is measured. */
const rateSeconds = 10

/** What the purge does, in a headline and a sentence. */
export function purgeStory(
  history: LoadHistory,
  timeText: (second: number) => string,
): { headline: string; text: string } {
  const { provisionedRu, isEnforced, requestRu, removed, now, endSecond, stepSeconds } = history
  const total = sum(removed)
  const paid = total > 0 ? ` Requests paid 0 RU for ${grouped(total)} ${total === 1 ? 'removal' : 'removals'}.` : ''
  if (now.isPaused) {
    const waiting =
      now.dead > 0 ? `${grouped(now.dead)} dead ${now.dead === 1 ? 'item waits' : 'items wait'}` : 'What dies waits'
    return {
      headline: 'The purge is paused.',
      text: `${waiting} to be removed; no read, query or count sees them.${paid}`,
    }
  }
  const rate = mean(removed.slice(-Math.max(1, rateSeconds / stepSeconds))) / stepSeconds
  const pace = rate >= 0.5 ? `It removes about ${grouped(Math.round(rate))} items a second` : ''
  const end = rate >= 0.5 && now.dead > 0 ? ` and will be done in ${spanText(Math.ceil(now.dead / rate))}` : ''
  if (isEnforced && provisionedRu === null) {
    return {
      headline: now.dead > 0 ? 'The purge takes what is left over.' : 'Nothing waits to be removed.',
      text: `Requests come first: the purge gets what they leave in each container.${pace && ` ${pace}${end}.`}${paid}`,
    }
  }
  if (!isEnforced || provisionedRu === null) {
    const headline = now.dead > 0 ? 'The purge uses idle moments.' : 'Nothing waits to be removed.'
    const limit = 'Without --rate-limit nothing is throttled, and the purge waits for a moment without requests.'
    return { headline, text: `${limit}${pace && ` ${pace}${end}.`}${paid}` }
  }
  const isFull = (ru: number) => ru >= nearlyAll * provisionedRu * stepSeconds
  const lastFull = requestRu.findLastIndex(isFull)
  const provisioned = `${grouped(provisionedRu)} RU/s`
  if (lastFull >= requestRu.length - 2 && lastFull >= 0) {
    return {
      headline: 'The purge waits while requests need everything.',
      text: `They take nearly all ${provisioned}; nothing dead is visible meanwhile.${paid}`,
    }
  }
  if (lastFull >= 0) {
    const since = endSecond - (requestRu.length - 1 - lastFull) * stepSeconds
    const after = pace ? ` ${pace.replace('It removes', 'Since then it removes')}${end}.` : ''
    const taken = `Until ${timeText(since)} they took nearly all ${provisioned}; nothing dead was visible meanwhile.`
    return { headline: 'The purge waits while requests need everything.', text: `${taken}${after}${paid}` }
  }
  const headline = now.dead > 0 ? 'The purge takes what is left over.' : 'Nothing waits to be removed.'
  return {
    headline,
    text: `Requests come first: the purge gets what they leave of ${provisioned}.${pace && ` ${pace}${end}.`}${paid}`,
  }
}

const numbers = new Intl.NumberFormat('en-US')
const grouped = (n: number) => numbers.format(n)

function spanText(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${grouped(Math.round(seconds / 60))} min`
}
