import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { findUnknownMember } from '../../lib/util/members.ts'
import { noWait, ownUid } from '../../lib/util/posix.ts'
import { timeMsOf } from './put-options.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import { ArtefactFolder } from './folder.ts'
import { type ArtefactOptions, type ArtefactRef, ArtefactStore } from './store.ts'
import { parseArtefactUri } from '../../lib/mcp/uris.ts'

/** Where the helpers find the store. */
interface ArtefactRoot {
  /** Folder of the store. Default `defaultArtefactRoot()`. */
  root?: string
}

/** Which artefacts are meant: every given member must be equal. */
export interface ArtefactFilter {
  mime?: string
  sessionId?: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  /** RFC 3339 or `Date`: only artefacts created at or after it. */
  createdSince?: Date | string
}

/** `<os temp>/dcc-mcp-artefacts-<uid or user>`: the store of a server without `registryDir`. */
export function defaultArtefactRoot(): string {
  return join(tmpdir(), `dcc-mcp-artefacts-${ownUid() ?? userInfo().username}`)
}

/** The store of a server with a `registryDir`. */
export function artefactRootIn(registryDir: string): string {
  return join(registryDir, 'dcc-mcp-artefacts')
}

/**
 * Stores a copy of a regular file, read piece by piece; `displayName` defaults to the file's name.
 * Throws `body_invalid` for anything but a readable regular file or an option out of its form,
 * `artefact_too_large`, `storage_full`, `storage_failed`, `registry_dir_unsafe`.
 */
export async function artefactPutFile(
  path: string,
  { root, ...options }: ArtefactOptions & ArtefactRoot = {},
): Promise<ArtefactRef> {
  const flags = constants.O_RDONLY | noWait
  await using file = await open(path, flags).catch(error => {
    throw unreadable(path, error)
  })
  if (!(await file.stat()).isFile()) throw unreadable(path, null)
  const stream = file.createReadStream({ highWaterMark: 1024 * 1024 })
  const { ref } = await storeAt(root).put(stream, { displayName: basename(path), ...options })
  return ref
}

/** Stores bytes. Errors as `artefactPutFile`. */
export async function artefactPutBytes(
  bytes: Uint8Array,
  { root, ...options }: ArtefactOptions & ArtefactRoot = {},
): Promise<ArtefactRef> {
  const store = storeAt(root)
  const { ref } = await store.put(bytes, options)
  return ref
}

/**
 * All bytes of an artefact, verified. Throws `ResourceUriInvalid` for another form than
 * `artefact://sha256/<hex>`, `ResourceNotFound`, or `artefact_corrupt`.
 */
export async function artefactGetBytes(
  uri: string,
  options: ArtefactRoot = {},
): Promise<Uint8Array> {
  const hex = parseArtefactUri(uri)
  if (hex === null) throw new ResourceUriInvalid('an artefact URI is artefact://sha256/<hex>')
  const unknown = findUnknownMember(options, ['root'], 'artefact option')
  if (unknown !== null) throw new ServiceError('body_invalid', unknown)
  const store = storeAt(options.root)
  await using artefact = await store.open(hex)
  if (artefact === null) throw new ResourceNotFound(uri)
  return Buffer.concat(await Array.fromAsync(artefact.verified(), piece => new Uint8Array(piece)))
}

/**
 * Every stored artefact that fits the filter, newest first. Throws `body_invalid` for a
 * `createdSince` that is no time, `storage_failed`, `registry_dir_unsafe`.
 */
export async function artefactList({
  root,
  ...filter
}: ArtefactFilter & ArtefactRoot = {}): Promise<ArtefactRef[]> {
  const isWanted = compileFilter(filter)
  const store = storeAt(root)
  const refs: ArtefactRef[] = []
  let after: string | undefined
  do {
    const page = await store.page(after, pageSize)
    refs.push(...page.refs.filter(isWanted))
    after = page.next
  } while (after !== undefined)
  return refs
}

const filterMembers = {
  mime: 'mime',
  sessionId: 'session_id',
  toolCallId: 'tool_call_id',
  jobId: 'job_id',
  correlationId: 'correlation_id',
} as const

function compileFilter({ createdSince, ...filter }: ArtefactFilter): (ref: ArtefactRef) => boolean {
  const known = [...Object.keys(filterMembers), 'createdSince']
  const unknown = findUnknownMember(filter, known, 'artefact filter')
  if (unknown !== null) throw new ServiceError('body_invalid', unknown)
  const sinceMs = createdSince === undefined ? -Infinity : timeMsOf(createdSince)
  if (sinceMs === null) {
    const message = 'artefact filter createdSince must be a time such as 2030-01-31T12:00:00Z'
    throw new ServiceError('body_invalid', message)
  }
  const members = Object.entries(filterMembers) as [keyof typeof filter, keyof ArtefactRef][]
  const isWanted = (ref: ArtefactRef) =>
    members.every(([name, member]) => filter[name] === undefined || filter[name] === ref[member])
  return ref => Date.parse(ref.created_at) >= sinceMs && isWanted(ref)
}

const pageSize = 500

/**
 * The stores opened by this process: reading a large folder again for every call would cost
 * seconds. They hold no timer, file or listener, so nothing keeps the process alive.
 */
const stores = new Map<string, ArtefactStore>()

function storeAt(root = defaultArtefactRoot()): ArtefactStore {
  const path = resolve(root)
  const store = stores.get(path) ?? new ArtefactStore(new ArtefactFolder(path))
  stores.set(path, store)
  return store
}

function unreadable(path: string, error: unknown): ServiceError {
  const reason = error === null ? 'not a regular file' : (errnoOf(error) ?? 'unreadable')
  const hint = 'give the path of a file that this process may read'
  const details = error === null ? { hint } : { hint, cause: error }
  return new ServiceError('body_invalid', `cannot store the file ${path}: ${reason}`, details)
}
