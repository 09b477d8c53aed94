/** A picture of the demo: 200 bars, each the life left of one item, sinking in the 30 s of their TTL. */

import { useEffect, useRef } from 'preact/hooks'

const columns = 40
const rows = 5
const stepX = 8.4
const stepY = 41
const barHeight = 34
const lifespanS = 30
const urgentS = 10
const frameMs = 250

/** Spreads the births over the lifespan; the same picture each time. */
const births = Array.from({ length: columns * rows }, (_, index) =>
  Math.abs((Math.sin(index * 12.9898) * 43758.5453) % 1),
)

/** Draws all bars at one moment of the picture's own time. */
function draw(svg: SVGSVGElement, seconds: number): void {
  births.forEach((birth, index) => {
    const left = lifespanS * (1 - ((birth + seconds / lifespanS) % 1))
    const height = Math.max(1.5, (left / lifespanS) * barHeight)
    const bar = svg.children[index * 2 + 1] as SVGRectElement
    const top = Math.floor(index / columns) * stepY
    bar.setAttribute('y', String(top + barHeight - height))
    bar.setAttribute('height', String(height))
    bar.setAttribute('class', left < urgentS / 2 ? 'bar-urgent' : 'bar-life')
  })
}

export function DemoBars() {
  const ref = useRef<SVGSVGElement>(null)
  useEffect(() => {
    const svg = ref.current!
    draw(svg, 0)
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
    let seconds = 0
    const timer = setInterval(() => {
      if (document.hidden) return
      seconds += frameMs / 1000
      draw(svg, seconds)
    }, frameMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <svg
      ref={ref}
      class="demo-bars"
      viewBox={`0 0 ${columns * stepX} ${rows * stepY - 7}`}
      role="img"
      aria-label="200 bars, each the life left of one item"
    >
      {births.flatMap((_, index) => {
        const x = (index % columns) * stepX + 1
        const y = Math.floor(index / columns) * stepY
        return [
          <rect key={`${index}-track`} x={x} y={y} width="5" height={barHeight} rx="2.5" class="bar-track" />,
          <rect key={`${index}-bar`} x={x} y={y} width="5" height={barHeight} rx="2.5" class="bar-life" />,
        ]
      })}
    </svg>
  )
}
