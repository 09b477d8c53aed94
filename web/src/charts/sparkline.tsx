/** A small line without axes: how one number went. */

import type { JSX } from 'preact'

interface SparklineProps {
  values: readonly number[]
  tone: 'dead' | 'plain'
  label: string
}

const height = 100

export function Sparkline({ values, tone, label }: SparklineProps): JSX.Element {
  const most = Math.max(1, ...values)
  const last = Math.max(1, values.length - 1)
  // The line needs room for its own width at the top and at the bottom.
  const points = values.map((value, index) => `${index},${(height - 2 - (value / most) * (height - 6)).toFixed(2)}`)
  const line = points.length > 1 ? `M${points.join('L')}` : ''
  return (
    <svg
      class={`sparkline ${tone}`}
      viewBox={`0 0 ${last} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {line && <path class="area" d={`${line}L${last},${height}L0,${height}Z`} />}
      {line && <path class="line" d={line} vector-effect="non-scaling-stroke" />}
    </svg>
  )
}
