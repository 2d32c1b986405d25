import type { Limits } from '../../lib/config/limits.ts'
import { liveInstances } from '../../lib/instances/live-instances.ts'
import { openStateDirectory } from '../../lib/instances/state-directory.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { maxObjectBytes } from './bucket/bucket.ts'
import { type BucketStoreSettings, openBucketStore } from './bucket/open-bucket-store.ts'
import { bucketName } from './bucket/settings.ts'
import { copyArtefacts, type CopyEvents } from './copy-artefacts.ts'
import { noOrigin } from './describe.ts'
import { createFsStore } from './fs-store.ts'
import { artefactRootIn } from './helpers.ts'

interface MigrateOptions extends CopyEvents {
  readonly to: 'bucket' | 'files'
  /** The state directory. */
  readonly registryDir: string
  readonly where: BucketStoreSettings
  /** Those of the servers that use the target. */
  readonly limits: Limits
  readonly log: Logger
}

/** No bound: nothing is removed here, whatever the limits of the servers are. */
const unbounded = {
  ...{ artefactTtlMs: 0, maxArtefacts: 0, maxArtefactTotalBytes: 0, maxArtefactBytes: 0 },
  ...{ artefactSweepMs: 0, artefactPollMs: 0 },
}

/** Copies the artefacts of a state directory to a bucket, or back; see `copyArtefacts`. */
export async function migrateArtefacts(options: MigrateOptions) {
  const { to, registryDir, where, limits, log } = options
  if (to === 'bucket') await refuseInUse(registryDir, log)
  const { path } = await openStateDirectory(registryDir)
  const parts = { limits: { ...limits, ...unbounded }, log }
  await using opened = new AsyncDisposableStack()
  const files = { name: artefactRootIn(path), maxBytes: Infinity }
  const fileStore = await createFsStore({ root: files.name, ...parts })
  opened.defer(() => fileStore.close())
  const bucketStore = await openBucketStore(where, { ...parts, origin: () => noOrigin })
  opened.defer(() => bucketStore.close())
  const bucket = { name: bucketName(where.bucket), maxBytes: maxObjectBytes }
  const ends =
    to === 'bucket'
      ? { from: { ...files, store: fileStore }, to: { ...bucket, store: bucketStore } }
      : { from: { ...bucket, store: bucketStore }, to: { ...files, store: fileStore } }
  const copied = await copyArtefacts({ ...options, ...ends })
  return { from: ends.from.name, to: ends.to.name, ...copied }
}

/** What a server stores there from now on would not be copied. */
async function refuseInUse(registryDir: string, log: Logger): Promise<void> {
  const [server] = await liveInstances({ registryDir, log, nowMs: Date.now() })
  if (server === undefined) return
  const message = `${registryDir} is in use by service-cli (pid ${server.pid}): what it stores meanwhile would be left behind`
  throw new ServiceError('storage_failed', message, {
    hint: 'stop it, run this command, and start it with --artefacts s3://…',
  })
}
