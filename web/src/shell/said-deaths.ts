/** Announces deaths of the open container to screen readers from time to time, if the user wishes. */

import { signal } from '@preact/signals'
import { remember, remembered } from '../browser/memory.ts'
import { announce } from '../components/announce.tsx'
import { onLive } from '../live/connection.ts'
import { deathSayer } from './death-sayer.ts'

const memoryKey = 'mayfly.says-deaths'
export const saysDeaths = signal(remembered(memoryKey) === 'on')

export function setSaysDeaths(isOn: boolean): void {
  saysDeaths.value = isOn
  remember(memoryKey, isOn ? 'on' : undefined)
}

/** Begins to listen. */
export function listenForDeaths(): void {
  const add = deathSayer(announce)
  onLive('deaths', ({ count: deaths }) => {
    if (saysDeaths.peek()) add(deaths)
  })
}
