import { open } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { orThrow } from '../../lib/host-link/check.ts'
import { mediaType, sidecar } from '../../lib/host-link/messages.ts'
import { parseArtefactUri } from '../../lib/mcp/artefact-uri.ts'
import { ownUid } from '../../lib/util/posix.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import { ArtefactFolder } from './folder.ts'
import { type ArtefactFields, type ArtefactRef, ArtefactStore } from './store.ts'

/** Where the helpers find the store. */
interface ArtefactRoot {
  /** Folder of the store. Default `defaultArtefactRoot()`. */
  root?: string
}

/** What a caller may say about the bytes it stores. */
export interface ArtefactOptions {
  /** Default `application/octet-stream`. */
  mime?: string
  /** 1 to 255 characters without control characters, like the four ids. */
  displayName?: string
  sessionId?: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  /** In the future. A `Date` or an RFC 3339 text. */
  expiresAt?: Date | string
  /** Any JSON value, at most 64 KiB of JSON. */
  metadata?: unknown
}

/** Which artefacts are meant: every given member must be equal. */
export interface ArtefactFilter extends Omit<
  ArtefactOptions,
  'displayName' | 'expiresAt' | 'metadata'
> {
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
 * Stores a copy of a file, read piece by piece; `displayName` defaults to the file's name. Throws
 * `body_invalid` for an option out of its form, `artefact_too_large`, `storage_full`,
 * `storage_failed`, `registry_dir_unsafe`, and the errors of reading the file.
 */
export async function artefactPutFile(
  path: string,
  { root, ...options }: ArtefactOptions & ArtefactRoot = {},
): Promise<ArtefactRef> {
  const fields = fieldsOf({ displayName: basename(path), ...options })
  await using file = await open(path)
  const { ref } = await storeAt(root).put(file.createReadStream(), fields)
  return ref
}

/** Stores bytes. Errors as `artefactPutFile`. */
export async function artefactPutBytes(
  bytes: Uint8Array,
  { root, ...options }: ArtefactOptions & ArtefactRoot = {},
): Promise<ArtefactRef> {
  const { ref } = await storeAt(root).put(bytes, fieldsOf(options))
  return ref
}

/**
 * All bytes of an artefact, verified. Throws `ResourceUriInvalid` for another form than
 * `artefact://sha256/<hex>`, `ResourceNotFound`, or `artefact_corrupt`.
 */
export async function artefactGetBytes(
  uri: string,
  { root }: ArtefactRoot = {},
): Promise<Uint8Array> {
  const hex = parseArtefactUri(uri)
  if (hex === null) throw new ResourceUriInvalid('an artefact URI is artefact://sha256/<hex>')
  await using artefact = await storeAt(root).open(hex)
  if (artefact === null) throw new ResourceNotFound(uri)
  return Buffer.concat(await Array.fromAsync(artefact.verified(), piece => new Uint8Array(piece)))
}

/**
 * Every stored artefact that fits the filter, newest first. Throws a `RangeError` for a
 * `createdSince` that is no time, `storage_failed`, `registry_dir_unsafe`.
 */
export async function artefactList({
  root,
  createdSince,
  ...filter
}: ArtefactFilter & ArtefactRoot = {}): Promise<ArtefactRef[]> {
  const since = createdSince === undefined ? '' : new Date(createdSince).toISOString()
  const { refs } = await storeAt(root).page(undefined, Infinity)
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  return refs.filter(
    ref =>
      ref.created_at >= since && wanted.every(([name, value]) => ref[memberOf(name)] === value),
  )
}

const fields = sidecar.extend({ mime: mediaType.optional() }).strict()

function fieldsOf(options: ArtefactOptions): ArtefactFields {
  const members = Object.entries(options).map(([name, value]) => [
    memberOf(name),
    value instanceof Date ? value.toISOString() : value,
  ])
  return orThrow(fields, Object.fromEntries(members))
}

/** `session_id` for `sessionId`: options have the names of the members in camel case. */
function memberOf(option: string): keyof ArtefactRef {
  return option.replaceAll(/[A-Z]/g, '_$&').toLowerCase() as keyof ArtefactRef
}

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
