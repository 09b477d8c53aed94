/** The colours of the page for drawings on a canvas, which knows nothing of CSS variables. */

import { effect, signal } from '@preact/signals'
import { theme } from '../theme/theme.ts'

const tokens = {
  panel: 'bg-1',
  hover: 'bg-3',
  line: 'line-1',
  text: 'text-1',
  quiet: 'text-3',
  inherited: 'life-bar',
  own: 'life-own',
  dead: 'dead-bar',
  deadSoft: 'dead-soft',
  requests: 'info-bar',
  danger: 'danger-bar',
} as const

export type Palette = Readonly<Record<keyof typeof tokens, string>> & { readonly font: string }

/** Counts the changes of the theme: what is drawn must be drawn again. */
export const paletteVersion = signal(0)

let known: { version: number; palette: Palette } | undefined

/** The colours as they are now. */
export function palette(): Palette {
  const version = paletteVersion.peek()
  if (known?.version !== version) known = { version, palette: read() }
  return known.palette
}

/** A custom property is a text to the script; only a property of a real element has the colour. */
function read(): Palette {
  const probe = document.createElement('span')
  probe.hidden = true
  document.body.append(probe)
  const colourOf = (token: string) => {
    probe.style.color = `var(--${token})`
    return getComputedStyle(probe).color
  }
  const colours = Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, colourOf(token)]))
  probe.remove()
  return { ...(colours as Record<keyof typeof tokens, string>), font: getComputedStyle(document.body).fontFamily }
}

function changed(): void {
  paletteVersion.value = paletteVersion.peek() + 1
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed)
effect(() => {
  theme.value
  // The attribute that makes the theme is set by another effect of the same change.
  queueMicrotask(changed)
})

/** Thin slanted lines: what is dead, and what removes it. */
export function hatch(context: CanvasRenderingContext2D, { dead, deadSoft }: Palette): CanvasPattern {
  const size = Math.round(6 * devicePixelRatio)
  const tile = document.createElement('canvas')
  tile.width = size
  tile.height = size
  const brush = tile.getContext('2d')!
  brush.fillStyle = deadSoft
  brush.fillRect(0, 0, size, size)
  brush.strokeStyle = dead
  brush.lineWidth = 1.4 * devicePixelRatio
  // Three lines, so that the pattern goes on where tiles meet.
  for (const shift of [-size, 0, size]) {
    brush.beginPath()
    brush.moveTo(shift - 1, size + 1)
    brush.lineTo(shift + size + 1, -1)
    brush.stroke()
  }
  return context.createPattern(tile, 'repeat')!
}
