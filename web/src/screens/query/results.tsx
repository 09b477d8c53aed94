/** The rows of a query as a table or as JSON; rows that are items count down to their death. */

import type { ContainerName, Life } from '../../api/shapes.ts'
import { CodeView } from '../../components/code-view.tsx'
import { useLifeClock } from '../../components/countdown.tsx'
import { ExpiresCell } from '../../components/expires-cell.tsx'
import { urgencyClass, urgencyOf } from '../../components/life.ts'
import { addressOf } from '../../navigation/routes.ts'
import { cellText } from '../../text/cell-text.ts'
import { count } from '../../text/number-text.ts'
import { type ResultColumn, resultColumns, valueIn } from './result-columns.ts'

/** More lines make the page slow; the export has all. */
const jsonRowsMax = 500

interface RowProps {
  name: ContainerName
  index: number
  row: unknown
  life: Life | null | undefined
  columns: readonly ResultColumn[]
  hasLives: boolean
}

function Cells({ name, index, row, life, columns }: Omit<RowProps, 'hasLives'>) {
  return (
    <>
      <td class="t3 r row-number">{count(index + 1)}</td>
      {columns.map(({ name: column, isNumber }, place) => {
        const text = cellText(valueIn(row, column))
        const href =
          place === 0 && life?.key ? addressOf({ name: 'container', ...name, params: { item: life.key } }) : undefined
        return (
          <td key={column} class={isNumber ? 'r' : place === 0 ? 'mono' : 'mono t2'} title={text}>
            {href ? <a href={href}>{text}</a> : text}
          </td>
        )
      })}
    </>
  )
}

function LivingRow({ name, index, row, life, columns }: RowProps & { life: Life }) {
  const nowMs = useLifeClock(life).value || (life.ts ?? 0) * 1000
  const urgency = urgencyOf(life, nowMs)
  return (
    <tr class={urgencyClass[urgency]}>
      <Cells name={name} index={index} row={row} life={life} columns={columns} />
      <td>
        <ExpiresCell life={life} nowMs={nowMs} urgency={urgency} source="" />
      </td>
    </tr>
  )
}

function Row(props: RowProps) {
  const { life, hasLives } = props
  if (life) return <LivingRow {...props} life={life} />
  return (
    <tr>
      <Cells {...props} />
      {hasLives && <td />}
    </tr>
  )
}

interface TableProps {
  name: ContainerName
  rows: readonly unknown[]
  lives: readonly (Life | null)[]
}

export function ResultTable({ name, rows, lives }: TableProps) {
  const columns = resultColumns(rows)
  const hasLives = lives.some(life => life !== null)
  return (
    <table class="tbl results">
      <thead>
        <tr>
          <th class="r">#</th>
          {columns.map(({ name: column, isNumber }) => (
            <th key={column} class={isNumber ? 'r' : ''}>
              {column}
            </th>
          ))}
          {hasLives && (
            <th>
              <span class="c-exp">
                <span class="num">expires in</span>
              </span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <Row
            key={index}
            name={name}
            index={index}
            row={row}
            life={lives[index]}
            columns={columns}
            hasLives={hasLives}
          />
        ))}
      </tbody>
    </table>
  )
}

export function ResultJson({ rows }: { rows: readonly unknown[] }) {
  const shown = rows.slice(0, jsonRowsMax)
  return (
    <>
      <CodeView text={JSON.stringify(shown, null, 2)} language="json" label="Rows as JSON" isNarrow />
      {rows.length > shown.length && (
        <p class="t2 fs12 cpad">The first {count(jsonRowsMax)} rows. The export has all.</p>
      )}
    </>
  )
}
