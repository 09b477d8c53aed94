/** /offers: provisioned throughput, manual and autoscale. */

import { throughputMin } from '../../base/limits.ts'
import type { ContainerRecord, DatabaseRecord, Throughput } from '../../store/catalog.ts'
import { catalogReadRu, catalogWriteRu } from '../../units/cost.ts'
import { ruPerSecond } from '../../units/ledger.ts'
import { readObject } from '../definitions/definition-input.ts'
import { autoscaleThroughput, checkThroughput } from '../definitions/throughput.ts'
import { viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { jsonBody, type NosqlRequest } from '../http/request.ts'
import { databaseRid, etagOf, offerRid } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { queryDefinitions } from './lazy-queries.ts'

type Owner = (DatabaseRecord | ContainerRecord) & { readonly throughput: Throughput }

function offerResource(owner: Owner) {
  const rid = offerRid(owner)
  const isContainer = 'database' in owner
  const resource = isContainer ? viewOf(owner).self : `dbs/${databaseRid(owner)}/`
  return {
    resource,
    offerType: 'Invalid',
    offerResourceId: isContainer ? viewOf(owner).rid : databaseRid(owner),
    offerVersion: 'V2',
    content: contentOf(owner.throughput),
    id: rid,
    _rid: rid,
    _self: `offers/${rid}/`,
    _etag: `"${etagOf(owner.rid, owner.version)}"`,
    _ts: owner.ts,
  }
}

function contentOf(throughput: Throughput): object {
  const rate = ruPerSecond(throughput)!
  const common = { offerIsRUPerMinuteThroughputEnabled: false, offerLastReplaceTimestamp: 0 }
  if (throughput.kind === 'manual') return { offerThroughput: rate, ...common }
  const { incrementPercent } = throughput
  const policy = incrementPercent === undefined ? {} : { autoUpgradePolicy: { throughputPolicy: { incrementPercent } } }
  // An idle autoscale container runs at a tenth of its maximum.
  return { offerThroughput: rate / 10, ...common, offerAutopilotSettings: { maxThroughput: rate, ...policy } }
}

async function owners(request: NosqlRequest): Promise<Owner[]> {
  const { catalog } = request.service.engine
  const found: Owner[] = []
  const add = (owner: DatabaseRecord | ContainerRecord) => {
    if (owner.throughput !== null) found.push(owner as Owner)
  }
  for (const database of await catalog.databases()) {
    add(database)
    for (const container of await catalog.containers(database)) add(container)
  }
  return found
}

async function offers(request: NosqlRequest) {
  return (await owners(request)).map((owner, number) => ({ number, resource: offerResource(owner) }))
}

export async function listOffers(request: NosqlRequest): Promise<NosqlResponse> {
  return definitionFeed(request, 'Offers', '', await offers(request))
}

export async function queryOffers(request: NosqlRequest): Promise<NosqlResponse> {
  return definitionFeed(request, 'Offers', '', await queryDefinitions(request, await offers(request)))
}

export async function readOffer(request: NosqlRequest): Promise<NosqlResponse> {
  return answer(await requireOwner(request), catalogReadRu)
}

export async function replaceOffer(request: NosqlRequest): Promise<NosqlResponse> {
  const throughput = parseOffer(jsonBody(request))
  const isChanged = await request.service.engine.catalog.changeThroughput(await requireOwner(request), throughput)
  if (!isChanged) throw outcomeError('missing')
  return answer(await requireOwner(request), catalogWriteRu)
}

async function requireOwner(request: NosqlRequest): Promise<Owner> {
  const wanted = request.path[1]!
  const owner = (await owners(request)).find(candidate => offerRid(candidate) === wanted)
  if (owner === undefined) throw outcomeError('missing')
  return owner
}

/** Autoscale settings win: clients send back the offer they read with one number changed. */
function parseOffer(input: unknown): Throughput {
  const content = readObject(readObject(input, 'offer').content, 'content')
  const settings = content.offerAutopilotSettings
  if (settings === undefined || settings === null) {
    return checkThroughput({ kind: 'manual', ruPerSecond: content.offerThroughput as number })
  }
  return autoscaleThroughput(readObject(settings, 'offerAutopilotSettings'), "'offerAutopilotSettings'")
}

function answer(owner: Owner, chargeRu: number): NosqlResponse {
  const resource = offerResource(owner)
  return {
    status: 200,
    body: JSON.stringify(resource),
    chargeRu,
    headers: header('etag', resource._etag) + header('x-ms-cosmos-min-throughput', throughputMin),
  }
}
