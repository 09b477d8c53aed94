/** Line charts as small SVG files that can be read on a light and on a dark page. */

export interface Series {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface Chart {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
  /** Powers of ten have equal distances. */
  readonly isXLog?: boolean
  readonly isYLog?: boolean
  readonly series: readonly Series[]
}

const width = 760
const height = 360
const left = 64
const right = 236
const top = 36
const bottom = 48
/** Told apart also by people who do not see all colours. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#8c6d00', '#56b4e9', '#444444', '#a0522d']
const dashes = ['', '6 3', '2 3']

interface Axis {
  readonly place: (value: number) => number
  readonly marks: readonly number[]
}

function axis(values: readonly number[], from: number, to: number, isLog: boolean): Axis {
  if (isLog) {
    const low = Math.floor(Math.log10(Math.min(...values)))
    const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
    const marks = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at))
    return { place: value => from + ((Math.log10(value) - low) / (high - low)) * (to - from), marks }
  }
  const largest = Math.max(...values, Number.EPSILON)
  const rough = largest / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(each => each >= rough)!
  const marks = Array.from({ length: Math.ceil(largest / step) + 1 }, (_, at) => at * step)
  return { place: value => from + (value / marks.at(-1)!) * (to - from), marks }
}

function shown(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000} M`
  if (value >= 10_000) return `${value / 1_000} K`
  return String(Number(value.toPrecision(6)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

export function svgOf({ title, xLabel, yLabel, isXLog = false, isYLog = false, series }: Chart): string {
  const points = series.flatMap(each => each.points)
  const ends = [width - right, height - bottom] as const
  const x = axis(
    points.map(([value]) => value),
    left,
    ends[0],
    isXLog,
  )
  const y = axis(
    points.map(([, value]) => value),
    ends[1],
    top,
    isYLog,
  )
  const round = (value: number) => Number(value.toFixed(1))
  const text = (at: readonly [number, number], content: string, more = '') =>
    `<text x="${round(at[0])}" y="${round(at[1])}" ${more}>${escaped(content)}</text>`
  const grid = [
    ...x.marks.map(mark => `<path d="M${round(x.place(mark))} ${top}V${ends[1]}" class="g"/>`),
    ...y.marks.map(mark => `<path d="M${left} ${round(y.place(mark))}H${ends[0]}" class="g"/>`),
    ...x.marks.map(mark => text([x.place(mark), ends[1] + 16], shown(mark), 'text-anchor="middle"')),
    ...y.marks.map(mark => text([left - 6, y.place(mark) + 4], shown(mark), 'text-anchor="end"')),
  ]
  const lines = series.flatMap(({ name, points: own }, at) => {
    const colour = colours[at % colours.length]!
    const dash = dashes[Math.floor(at / colours.length) % dashes.length]!
    const stroke = `stroke="${colour}" stroke-width="2" fill="none"${dash && ` stroke-dasharray="${dash}"`}`
    const path = own.map(([px, py], n) => `${n === 0 ? 'M' : 'L'}${round(x.place(px))} ${round(y.place(py))}`).join('')
    const legendY = top + 8 + at * 18
    // Many points need no dots.
    const dots = own.length > 20 ? [] : own
    return [
      `<path d="${path}" ${stroke}/>`,
      ...dots.map(
        ([px, py]) => `<circle cx="${round(x.place(px))}" cy="${round(y.place(py))}" r="3" fill="${colour}"/>`,
      ),
      `<path d="M${ends[0] + 14} ${legendY}h18" ${stroke}/>`,
      text([ends[0] + 38, legendY + 4], name),
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    '<style>text{font:12px sans-serif;fill:#222}.g{stroke:#ddd;fill:none}</style>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text([left, 20], title, 'font-weight="bold"'),
    ...grid,
    ...lines,
    text([(left + ends[0]) / 2, height - 10], xLabel, 'text-anchor="middle"'),
    text([14, (top + ends[1]) / 2], yLabel, `text-anchor="middle" transform="rotate(-90 14 ${(top + ends[1]) / 2})"`),
    '</svg>',
    '',
  ].join('\n')
}
