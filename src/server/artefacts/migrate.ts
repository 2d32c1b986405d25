import type { Limits } from '../../lib/config/limits.ts'
import { liveInstances } from '../../lib/instances/live-instances.ts'
import { openStateDirectory } from '../../lib/instances/state-directory.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { checkDocuments, copyDocuments } from '../documents/copy-documents.ts'
import { documentFolders } from '../documents/document-stores.ts'
import { openDocumentRows } from '../documents/postgres/open-document-rows.ts'
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
  /** The folder of notes and checkpoints. */
  readonly documentsDir: string
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

/**
 * Copies the artefacts of a state directory to a bucket, and notes and checkpoints to its database,
 * or back; see `copyArtefacts` and `copyDocuments`.
 */
export async function migrateArtefacts(options: MigrateOptions) {
  const { to, registryDir, documentsDir, where, limits, log, damaged } = options
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
  const { database } = bucketStore
  // Without a log: a note that cannot be read is reported once, as damaged.
  const rows = await openDocumentRows(database, silentLogger, documentsDir)
  opened.defer(() => rows.close())
  const inFiles = { name: documentsDir, stores: documentFolders(documentsDir, silentLogger) }
  const inRows = { name: database.name, stores: rows }
  const [from, target] = to === 'bucket' ? [inFiles, inRows] : [inRows, inFiles]
  const documents = { from, to: target, damaged }
  await checkDocuments(documents)
  const copied = await copyArtefacts({ ...options, ...ends })
  const names = { from: from.name, to: target.name }
  return {
    ...{ from: ends.from.name, to: ends.to.name, ...copied },
    documents: { ...names, ...(await copyDocuments(documents)) },
  }
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
