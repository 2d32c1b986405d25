import type { ArtefactLimits } from '../limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Clock } from '../../../lib/util/time.ts'
import type { Catalog } from '../postgres/catalog.ts'
import type { ArtefactOrigin } from '../store.ts'
import type { Bucket } from './bucket.ts'

/** What the parts of the bucket store share. */
export interface BucketContext {
  readonly bucket: Bucket
  readonly catalog: Catalog
  readonly limits: ArtefactLimits
  readonly clock: Clock
  readonly log: Logger
  readonly origin: () => ArtefactOrigin
}

/** The key of an object in the bucket. */
export function keyOf(object: string): string {
  return `o/${object}`
}
