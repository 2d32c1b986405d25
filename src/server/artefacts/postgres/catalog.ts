import { migrate } from '../../database/migrations.ts'
import type { Database } from '../../database/pool.ts'
import { catalogChanges } from './catalog-changes.ts'
import { catalogReads } from './catalog-reads.ts'
import { objectLedger } from './object-ledger.ts'
import type { CatalogLimits } from './rows.ts'
import { migrations } from './schema.ts'

/** The artefacts in the bucket, in PostgreSQL. Rejects with `storage_unavailable` or `storage_full`. */
export interface Catalog
  extends ReturnType<typeof catalogReads>, ReturnType<typeof catalogChanges> {
  readonly objects: ReturnType<typeof objectLedger>
}

/** Makes the tables when they are missing. */
export async function openCatalog(database: Database, limits: CatalogLimits): Promise<Catalog> {
  await migrate(database, 'artefacts', migrations)
  return {
    ...catalogReads(database, limits),
    ...catalogChanges(database, limits),
    objects: objectLedger(database),
  }
}
