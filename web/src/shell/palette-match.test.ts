import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markMatches, matchPalette, type PaletteEntry } from './palette-match.ts'

test('the palette marks what matches, and puts first what begins with it', () => {
  assert.deepEqual(markMatches('sessions, Settings', 'se'), [
    { text: 'se', isMatch: true },
    { text: 'ssions, ', isMatch: false },
    { text: 'Se', isMatch: true },
    { text: 'ttings', isMatch: false },
  ])
  assert.equal(markMatches('carts', 'se'), undefined)
  const entry = (label: string, weight = 0): PaletteEntry => ({
    id: label,
    group: 'Go to',
    label,
    icon: 'item',
    weight,
  })
  const [group] = matchPalette([entry('Use it'), entry('My sessions'), entry('sessions')], 'se', [])
  assert.deepEqual(
    group?.entries.map(({ label }) => label),
    ['sessions', 'My sessions', 'Use it'],
  )
})
