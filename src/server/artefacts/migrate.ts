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
  /** The folder with notes and checkpoints. */
  readonly documentsDir: string
  readonly where: BucketStoreSettings
  /** The limits of the servers that use the target. */
  readonly limits: Limits
  readonly log: Logger
}

/** The limits of the servers do not apply here: nothing is removed. */
const unbounded = {
  artefactTtlMs: 0,
  maxArtefacts: 0,
  maxArtefactTotalBytes: 0,
  maxArtefactBytes: 0,
  artefactSweepMs: 0,
  artefactPollMs: 0,
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
  const root = artefactRootIn(path)
  const fileStore = await createFsStore({ root, ...parts })
  opened.defer(() => fileStore.close())
  const bucketStore = await openBucketStore(where, { ...parts, origin: () => noOrigin })
  opened.defer(() => bucketStore.close())
  const { database } = bucketStore
  // Without a log: a note that cannot be read is reported once, as damaged.
  const rows = await openDocumentRows(database, silentLogger, documentsDir)
  opened.defer(() => rows.close())
  const files = {
    artefacts: { name: root, maxBytes: Infinity, store: fileStore },
    documents: { name: documentsDir, stores: documentFolders(documentsDir, silentLogger) },
  }
  const bucket = {
    artefacts: { name: bucketName(where.bucket), maxBytes: maxObjectBytes, store: bucketStore },
    documents: { name: database.name, stores: rows },
  }
  const [source, target] = to === 'bucket' ? [files, bucket] : [bucket, files]
  const artefacts = { from: source.artefacts, to: target.artefacts }
  const documents = { from: source.documents, to: target.documents }
  await checkDocuments(documents)
  const copied = await copyArtefacts({ ...options, ...artefacts })
  const copiedDocuments = await copyDocuments({ ...documents, damaged })
  return {
    from: source.artefacts.name,
    to: target.artefacts.name,
    ...copied,
    documents: { from: source.documents.name, to: target.documents.name, ...copiedDocuments },
  }
}

/** Refuses a state directory that a server still writes to: what it stores would not be copied. */
async function refuseInUse(registryDir: string, log: Logger): Promise<void> {
  const [server] = await liveInstances({ registryDir, log, nowMs: Date.now() })
  if (server === undefined) return
  const message = `${registryDir} is in use by service-cli (pid ${server.pid}): what it stores meanwhile would be left behind`
  throw new ServiceError('storage_failed', message, {
    hint: 'stop it, run this command, and start it with --artefacts s3://…',
  })
}
