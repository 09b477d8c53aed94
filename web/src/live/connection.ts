/**
 * The one live connection: server-sent events for time, counts, deaths, load and changes.
 *
 * The page decides when to connect anew, not EventSource: after 1, 2, 4, 8 s, then every 10 s. While the
 * connection is lost, time stands, because only the server knows it.
 */

import { effect, signal } from '@preact/signals'
import { getSession } from '../api/calls.ts'
import { ApiError, apiBase, isSessionOver } from '../api/client.ts'
import type { ContainerName, LiveEvents } from '../api/shapes.ts'
import { setClockMode, stopClock, syncClock } from '../time/clock.ts'

/** `waiting`: lost, the next try comes in `retryInS` seconds. */
export type ConnectionState = 'connecting' | 'live' | 'lost'

export const connection = signal<ConnectionState>('connecting')
/** Seconds until the next try. */
export const retryInS = signal(0)
/** Set when the server said that it stops. */
export const isStopping = signal(false)
/** Counts the connections that came after a lost one: what is shown must be loaded again. */
export const reconnections = signal(0)

/** What a screen watches. */
export interface Watch extends ContainerName {
  feed?: 'latest' | 'all' | 'none'
  columns?: string
}

type EventName = keyof LiveEvents
type Listener<Name extends EventName> = (data: LiveEvents[Name]) => void

const listeners = new Map<EventName, Set<Listener<never>>>()
const retrySeconds = [1, 2, 4, 8]
const retrySecondsMax = 10
/** The server sends something every 5 s at the least on the manual clock, and each second otherwise. */
const silenceMs = 20_000

let watched: Watch | undefined
let source: EventSource | undefined
let failures = 0
let retryTimer: ReturnType<typeof setInterval> | undefined
let silenceTimer: ReturnType<typeof setTimeout> | undefined
let isWanted = false

const eventNames: readonly EventName[] = [
  'hello',
  'time',
  'counts',
  'totals',
  'load',
  'deaths',
  'changes',
  'catalog',
  'clock',
  'doubt',
  'purge',
  'job',
  'resync',
  'bye',
]

/** Calls the listener for each event of this name; returns what ends that. */
export function onLive<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
  const set = listeners.get(name) ?? new Set()
  listeners.set(name, set)
  set.add(listener as Listener<never>)
  return () => set.delete(listener as Listener<never>)
}

/** Watches a container, or none. The connection is opened anew if that is another one than now. */
export function watch(next: Watch | undefined): void {
  if (JSON.stringify(next) === JSON.stringify(watched)) return
  watched = next
  if (isWanted) open()
}

/** Opens the connection, and keeps it open. */
export function connect(): void {
  isWanted = true
  open()
}

export function disconnect(): void {
  isWanted = false
  clearInterval(retryTimer)
  clearTimeout(silenceTimer)
  source?.close()
}

/** Does not wait for the next try. */
export function tryNow(): void {
  if (isWanted) open()
}

function open(): void {
  clearInterval(retryTimer)
  source?.close()
  const params = new URLSearchParams(
    Object.entries(watched ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const query = params.toString()
  const opened = new EventSource(`${apiBase}/live${query && `?${query}`}`)
  source = opened
  listenForSilence(opened)
  for (const name of eventNames) {
    opened.addEventListener(name, event => {
      if (source === opened) receive(name, JSON.parse((event as MessageEvent<string>).data))
    })
  }
  opened.onerror = () => {
    if (source === opened) lose()
  }
}

/** A cable that was pulled out closes no connection. */
function listenForSilence(opened: EventSource): void {
  clearTimeout(silenceTimer)
  silenceTimer = setTimeout(() => {
    if (source === opened) lose()
  }, silenceMs)
}

function receive(name: EventName, data: LiveEvents[EventName]): void {
  listenForSilence(source!)
  if (name === 'hello') greet(data as LiveEvents['hello'])
  syncClock(data.now)
  if (name === 'bye') {
    const { reason } = data as LiveEvents['bye']
    if (reason === 'session') isSessionOver.value = true
    isStopping.value = reason === 'stopping'
  }
  for (const listener of listeners.get(name) ?? []) (listener as (data: unknown) => void)(data)
}

function greet(hello: LiveEvents['hello']): void {
  setClockMode(hello.mode)
  const wasLost = connection.peek() === 'lost'
  failures = 0
  isStopping.value = false
  connection.value = 'live'
  if (wasLost) reconnections.value++
}

function lose(): void {
  source?.close()
  source = undefined
  clearTimeout(silenceTimer)
  clearInterval(retryTimer)
  connection.value = 'lost'
  stopClock()
  retryInS.value = retrySeconds[failures++] ?? retrySecondsMax
  void askWhy()
  retryTimer = setInterval(() => {
    retryInS.value--
    if (retryInS.value <= 0) open()
  }, 1000)
}

/** EventSource does not distinguish a missing session from a missing server. */
async function askWhy(): Promise<void> {
  try {
    const session = await getSession()
    // The answer brought the time, but without events nobody says when it changes.
    stopClock()
    if (session.needsLogin && !session.isLoggedIn) isSessionOver.value = true
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) isSessionOver.value = true
  }
}

effect(() => {
  if (isSessionOver.value) disconnect()
})
