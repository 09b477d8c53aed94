/**
 * Shortcuts. A screen says which keys it takes while it is shown; the one that came last has them.
 *
 * Keys are written as `mod+k` (Command on a Mac, Control elsewhere), `alt+l`, `?`, `g i` (one after the
 * other). With Alt the place of the key counts, not its letter: Option types other letters on a Mac.
 */

import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { remember, remembered } from '../browser/memory.ts'

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

const sequenceMs = 1200
const memoryKey = 'mayfly.single-letters'

/** Single letters may disturb people who speak to their machine: they can be switched off. */
export const hasSingleLetters = signal(remembered(memoryKey) !== 'off')

export function setSingleLetters(isOn: boolean): void {
  hasSingleLetters.value = isOn
  remember(memoryKey, isOn ? undefined : 'off')
}

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>

const layers: { keys: Keys }[] = []
let prefix = ''
let prefixTimer: ReturnType<typeof setTimeout> | undefined

/** Takes these keys while the component is shown. */
export function useKeys(keys: Keys): void {
  const layer = useRef({ keys })
  layer.current.keys = keys
  useEffect(() => {
    const mine = layer.current
    layers.push(mine)
    return () => {
      layers.splice(layers.indexOf(mine), 1)
    }
  }, [])
}

/** The keys of an event as they are written above; undefined for a modifier alone. */
export function chordOf(event: KeyboardEvent): string | undefined {
  if (['Shift', 'Control', 'Alt', 'Meta', 'Dead'].includes(event.key)) return undefined
  const isMod = isMac ? event.metaKey : event.ctrlKey
  const place = /^(?:Key|Digit)(.)$/.exec(event.code)?.[1]?.toLowerCase()
  const isNamed = event.key.length > 1
  const key = (event.altKey || isMod ? place : undefined) ?? event.key.toLowerCase()
  const shift = event.shiftKey && (isNamed || isMod || event.altKey)
  return `${isMod ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${shift ? 'shift+' : ''}${key}`
}

export function isInField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
}

function isSingle(chord: string): boolean {
  return !/^(mod|alt)\+/.test(chord) && !['escape', 'f5', 'shift+enter'].includes(chord)
}

function findKey(chord: string): ((event: KeyboardEvent) => void) | undefined {
  return layers.findLast(({ keys }) => keys[chord])?.keys[chord]
}

function press(event: KeyboardEvent): void {
  const chord = chordOf(event)
  if (!chord || event.defaultPrevented || document.querySelector('dialog[open]')) return
  if (isSingle(chord)) {
    const isCheckbox = event.target instanceof HTMLInputElement && event.target.type === 'checkbox'
    if ((isInField(event.target) && !isCheckbox) || (chord.length === 1 && !hasSingleLetters.peek())) return
  }
  const run = findKey(`${prefix}${chord}`)
  clearTimeout(prefixTimer)
  prefix = ''
  if (run) {
    event.preventDefault()
    run(event)
  } else if (layers.some(({ keys }) => Object.keys(keys).some(each => each.startsWith(`${chord} `)))) {
    prefix = `${chord} `
    prefixTimer = setTimeout(() => {
      prefix = ''
    }, sequenceMs)
  }
}

addEventListener('keydown', press)

const names: Readonly<Record<string, string>> = {
  mod: isMac ? '⌘' : 'Ctrl',
  alt: isMac ? '⌥' : 'Alt',
  shift: isMac ? '⇧' : 'Shift',
  enter: 'Enter',
  escape: 'Esc',
  arrowup: '↑',
  arrowdown: '↓',
}

/** The keys of a shortcut as they are printed, one after the other. */
export function keyNames(chord: string): string[] {
  return chord.split(/[ +]/).map(key => names[key] ?? key.toUpperCase())
}
