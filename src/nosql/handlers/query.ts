/** Queries: over definitions in memory, over items, and the plans that clients ask for before they query partition by partition. */

import { RequestError } from '../../base/error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { ContainerRecord } from '../../storage/port.ts'
import type { NosqlRequest } from '../request.ts'
import type { NosqlResponse } from '../response.ts'

type Definitions = readonly { readonly number: number; readonly resource: object }[]

export function queryDefinitions(_request: NosqlRequest, _definitions: Definitions): Definitions {
  throw new RequestError('unsupported', 'Queries are not supported yet.')
}

export function queryItems(_request: NosqlRequest, _container: ContainerRecord): MaybePromise<NosqlResponse> {
  throw new RequestError('unsupported', 'Queries are not supported yet.')
}

export function planQuery(_request: NosqlRequest): MaybePromise<NosqlResponse> {
  throw new RequestError('unsupported', 'Queries are not supported yet.')
}
