/** Round numbers and times for the axes of a chart. */

const steps = [1, 1.5, 2, 2.5, 3, 4, 5, 10]

/** The marks of an axis from 0 to at least `max`, about `parts` of them, at round numbers. */
export function marksUpTo(max: number, parts = 4): number[] {
  const least = Math.max(max, 1)
  const power = 10 ** Math.floor(Math.log10(least / parts))
  const step = Math.max(1, power * steps.find(each => each * power * parts >= least)!)
  return Array.from({ length: Math.ceil(least / step - 1e-9) + 1 }, (_, index) => index * step)
}

const timeSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000,
  864_000, 2_592_000, 7_776_000, 31_536_000,
]

/** Times between `from` and `to`, at most `marksMax`, at round distances; `anchor` is one of them. */
export function timeMarks(
  from: number,
  to: number,
  { anchor, marksMax }: { anchor: number; marksMax: number },
): number[] {
  const least = (to - from) / marksMax
  const step = timeSteps.find(each => each >= least) ?? Math.ceil(least / 31_536_000) * 31_536_000
  const first = anchor + Math.ceil((from - anchor) / step) * step
  const marks: number[] = []
  for (let mark = first; mark <= to; mark += step) marks.push(mark)
  return marks
}
