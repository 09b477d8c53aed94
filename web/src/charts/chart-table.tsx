/** The numbers of a chart as a table, for users who cannot or do not want to read bars. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

interface ChartTableProps {
  caption: string
  head: readonly string[]
  /** Made only while the table is open. */
  rows: () => readonly (readonly string[])[]
}

export function ChartTable({ caption, head, rows }: ChartTableProps): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="chart-table" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen && (
        // A region that scrolls has to be reached by the keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
        <section class="chart-table-box" tabIndex={0} aria-label={caption}>
          <table class="tbl">
            <caption class="sr">{caption}</caption>
            <thead>
              <tr>
                {head.map((text, index) => (
                  <th key={text} scope="col" class={index === 0 ? '' : 'r'}>
                    {text}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows().map(([first, ...rest]) => (
                <tr key={first}>
                  <th scope="row">{first}</th>
                  {rest.map((text, index) => (
                    <td key={index} class="r">
                      {text}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}
