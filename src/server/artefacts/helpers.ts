import { defaultArtefactLimits } from './limits.ts'
import { constants, lstatSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { findUnknownMember } from '../../lib/util/members.ts'
import { noWait, ownUid } from '../../lib/util/posix.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import { createFsStore, type FsStore } from './fs-store.ts'
import type { ArtefactFilter, ArtefactOptions, ArtefactRef } from './store.ts'
import { parseArtefactUri } from '../../lib/mcp/uris.ts'

/** Where the helpers find the store. */
interface ArtefactRoot {
  /** Folder of the store. Default `defaultArtefactRoot()`. */
  root?: string
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
  const store = await storeAt(root)
  const file = await open(path, constants.O_RDONLY | noWait).catch(error => {
    throw unreadable(path, error)
  })
  try {
    if (!(await file.stat()).isFile()) throw unreadable(path, null)
    const stream = file.createReadStream({ highWaterMark: 1024 * 1024 })
    try {
      const { ref } = await store.put(stream, { displayName: basename(path), ...options })
      return ref
    } finally {
      stream.destroy()
    }
  } finally {
    await file.close()
  }
}

/** Stores bytes. Errors as `artefactPutFile`. */
export async function artefactPutBytes(
  bytes: Uint8Array,
  { root, ...options }: ArtefactOptions & ArtefactRoot = {},
): Promise<ArtefactRef> {
  const store = await storeAt(root)
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
  const store = await storeAt(options.root)
  const artefact = await store.open(hex)
  if (artefact === null) throw new ResourceNotFound(uri)
  try {
    return Buffer.concat(await Array.fromAsync(artefact.verified(), piece => new Uint8Array(piece)))
  } finally {
    await artefact.close()
  }
}

/**
 * Every stored artefact that fits the filter, newest first. Throws `body_invalid` for a
 * `createdSince` that is no time, `storage_failed`, `registry_dir_unsafe`.
 */
export async function artefactList({
  root,
  ...filter
}: ArtefactFilter & ArtefactRoot = {}): Promise<ArtefactRef[]> {
  const store = await storeAt(root)
  const refs: ArtefactRef[] = []
  let after: string | undefined
  do {
    const page = await store.page(after, defaultArtefactLimits.pageSize, filter)
    refs.push(...page.refs)
    after = page.next
  } while (after !== undefined)
  return refs
}

const maxStores = 8

/**
 * The stores opened by this process: reading a large folder again for every call would cost
 * seconds. They hold no timer, file or listener, so nothing keeps the process alive.
 */
const stores = new Map<string, OpenedStore>()

interface OpenedStore {
  /** Of its folder, once that is there. */
  inode: number | null
  readonly opened: Promise<FsStore>
}

function storeAt(root = defaultArtefactRoot()): Promise<FsStore> {
  const path = resolve(root)
  const known = stores.get(path)
  // A temporary folder may have been removed, and created again by another program.
  if (known !== undefined && (known.inode === null || known.inode === inodeOf(path))) {
    return known.opened
  }
  const limits = { ...defaultArtefactLimits, artefactSweepMs: 0, artefactPollMs: 0 }
  const opened = createFsStore({ root: path, limits })
  const kept: OpenedStore = { inode: null, opened }
  stores.set(path, kept)
  opened.then(
    () => (kept.inode = inodeOf(path)),
    () => stores.delete(path),
  )
  for (const oldest of stores.keys()) {
    if (stores.size <= maxStores) break
    stores.delete(oldest)
  }
  return opened
}

function inodeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.ino ?? 0
}

function unreadable(path: string, error: unknown): ServiceError {
  const reason = error === null ? 'not a regular file' : (errnoOf(error) ?? 'unreadable')
  const hint = 'give the path of a file that this process may read'
  const details = error === null ? { hint } : { hint, cause: error }
  return new ServiceError('body_invalid', `cannot store the file ${path}: ${reason}`, details)
}
