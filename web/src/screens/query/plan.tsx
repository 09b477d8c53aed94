/** The plan of a query: the source of its items, its index, and the plan that SDKs get. */

import type { QueryPlan } from '../../api/shapes.ts'
import { CodeView } from '../../components/code-view.tsx'
import { Refusal } from '../../components/refusal.tsx'

const sourceWords: Readonly<Record<QueryPlan['source'], string>> = {
  index: 'An index',
  scan: 'All items, one after the other',
  ids: 'Items by their ids',
  points: 'Items by id and partition key',
}

export function Plan({ plan, error }: { plan?: QueryPlan | undefined; error?: unknown }) {
  if (error !== undefined) {
    return (
      <div class="pad">
        <Refusal error={error} />
      </div>
    )
  }
  if (!plan) return <p class="pad t2">Working it out…</p>
  return (
    <div class="pad plan">
      <p class="fs14">{plan.text}</p>
      <dl class="plan-facts">
        <div>
          <dt>Items come from</dt>
          <dd>{sourceWords[plan.source]}</dd>
        </div>
        <div>
          <dt>Order</dt>
          <dd>{plan.isSorted ? 'as the index gives it' : 'as they are found, sorted afterwards if asked'}</dd>
        </div>
        <div>
          <dt>Partitions</dt>
          <dd>{plan.isCrossPartition ? 'all of them' : 'one'}</dd>
        </div>
      </dl>
      {plan.indexes.length > 0 && (
        <table class="tbl card">
          <thead>
            <tr>
              <th>index</th>
              <th>state</th>
              <th>made</th>
            </tr>
          </thead>
          <tbody>
            {plan.indexes.map(({ paths, state, declared }) => (
              <tr key={paths.join()}>
                <td class="mono">{paths.join(', ')}</td>
                <td>{state}</td>
                <td class="t2">{declared ? 'as the policy declares' : 'because queries asked for it'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {plan.wished.length > 0 && (
        <div class="note info">
          <span>
            An index on <span class="mono">{plan.wished.join(', ')}</span> would avoid the scan.
          </span>
        </div>
      )}
      <details>
        <summary>The plan as SDKs and drivers get it</summary>
        <CodeView text={JSON.stringify(plan.raw, null, 2)} language="json" label="Raw plan" isNarrow />
      </details>
    </div>
  )
}
