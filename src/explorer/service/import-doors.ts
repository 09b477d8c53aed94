/** How the explorer makes items of imported rows: the edges read them, each in its own way. */

import type { ImportEdge } from '../../engine/import-writer.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { KeepTtl } from '../../transfer/keep-ttl.ts'

export interface ImportDoors {
  edgeOf(container: ContainerRecord, keepTtl: KeepTtl): Promise<ImportEdge>
}
