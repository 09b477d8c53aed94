/** POST /sprocs/{id}: runs a stored procedure over the items of a partition key. */

import { requestBytesMax } from '../../base/limits.ts'
import { catalogReadRu } from '../../units/cost.ts'
import { invalidInput } from '../definitions/definition-input.ts'
import { requirePartitionKey, sessionHeader, viewOf } from '../http/container-view.ts'
import { requireContainer } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { hasFlag, headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import { header, logHeader, type NosqlResponse } from '../http/response.ts'
import { decodeJson, parseJson } from '../json/parse-json.ts'
import { inTransaction, scriptRun } from '../scripts/script-run.ts'
import { findScript } from '../scripts/script-store.ts'

export async function executeStoredProcedure(request: NosqlRequest): Promise<NosqlResponse> {
  const { service, path } = request
  const { engine } = service
  const container = await requireContainer(request)
  const view = viewOf(container)
  const components = requirePartitionKey(view, headerOf(request, partitionKeyHeader))
  const args = parseArguments(request)
  const script = await findScript(engine, view, 'sprocs', path[5]!)
  if (script === undefined) throw outcomeError('missing')
  const { result, transaction, stored } = await inTransaction(request, view, components, async (transaction, runs) => {
    transaction.charge(catalogReadRu)
    return runs.runStoredProcedure({ ...scriptRun(request, transaction, runs, script), args })
  })
  const version = Math.max(0, ...[...stored.values()].map(item => item.version))
  const headers =
    sessionHeader(view, version, transaction.range.min) +
    header('x-ms-content-path', view.rid) +
    header('x-ms-alt-content-path', `${view.path}/sprocs/${encodeURIComponent(script.id)}`) +
    (hasFlag(request, 'x-ms-documentdb-script-enable-logging') ? logHeader(result.log) : '')
  return { status: 200, body: transaction.withRealNames(result.body, stored), chargeRu: transaction.chargeRu, headers }
}

/** The body is the array of arguments. No body means no arguments. */
function parseArguments({ body }: NosqlRequest): string {
  if (body.length === 0) return '[]'
  if (body.length > requestBytesMax) invalidInput('the arguments are too long')
  const text = decodeJson(body)
  if (!Array.isArray(parseJson(text))) invalidInput('the arguments of a stored procedure must be an array')
  return text
}
