/**
 * What a role of Entra ID allows, after the built-in roles of the service: data and nothing else. Databases,
 * containers, throughput, scripts and users are managed with the account key.
 */

import { SubstatusError } from '../http/error-map.ts'
import type { EntraBearer } from './entra-tokens.ts'

export interface EntraUse {
  readonly method: string
  /** `['dbs', 'shop', 'colls', 'carts', 'docs', 'c1']` */
  readonly path: readonly string[]
  /** Reads and queries. */
  readonly isRead: boolean
}

/** The service's sub-status for what no token may do (dotnet/efcore#32197). */
const notForTokens = 5300
/** The sub-status for what only another role may do (Azure/azure-cosmos-dotnet-v3#3110). */
const notForRole = 5301

/** Throws unless the role allows the request. */
export function checkRole({ role, principal }: EntraBearer, use: EntraUse): void {
  const { path, isRead } = use
  const action = itemAction(use)
  if (isRead && (action !== undefined || isMetadata(path))) return
  if (action === undefined) {
    throw new SubstatusError(
      notForTokens,
      `Request blocked by Auth mayfly : The given request [${use.method} /${path.join('/')}] cannot be authorized ` +
        'by AAD token in data plane. Learn more: https://aka.ms/cosmos-native-rbac.',
      'forbidden',
    )
  }
  if (role === 'contributor') return
  throw new SubstatusError(
    notForRole,
    `Request blocked by Auth mayfly : Request is blocked because principal [${principal}] does not have required ` +
      `RBAC permissions to perform action [Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers/${action}] ` +
      `on resource [${path.slice(0, 4).join('/')}]. Learn more: https://aka.ms/cosmos-native-rbac.`,
    'forbidden',
  )
}

const itemActions: Readonly<Record<string, string>> = {
  GET: 'items/read',
  HEAD: 'items/read',
  POST: 'items/create',
  PUT: 'items/replace',
  PATCH: 'items/replace',
  DELETE: 'items/delete',
}

/** What the request does with items, in the service's words; undefined if it is about something else. */
function itemAction({ method, path }: EntraUse): string | undefined {
  const [, , , , type] = path
  if (type === 'docs' || type === 'conflicts') return itemActions[method]
  if (type === 'sprocs' && path.length === 6 && method === 'POST') return 'executeStoredProcedure'
  return type === 'operations' && method === 'POST' ? 'items/delete' : undefined
}

/** The account, one database, one container, and its ranges: clients read them before they read items. */
function isMetadata(path: readonly string[]): boolean {
  const isOne = path.length % 2 === 0
  return path.length === 0 || (isOne && path.length <= 4 && path[0] === 'dbs') || path[4] === 'pkranges'
}
