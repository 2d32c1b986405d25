import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { CheckpointFolder } from '../checkpoints/checkpoint-folder.ts'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.ts'
import { NoteFolder } from '../notes/note-folder.ts'
import type { NoteStore } from '../notes/note-store.ts'

/** What is kept of documents, by their names. */
export interface DocumentStores {
  notes(document: string): NoteStore
  checkpoints(document: string): CheckpointStore
  list(): Promise<DocumentList>
  close(): void
}

export interface DocumentList {
  /** Names of the documents that have notes or checkpoints. */
  readonly documents: readonly string[]
  /** Number of documents without a path that belong to other machines or accounts. */
  readonly others: number
}

/** Ends the name of a document without a path: each account of a machine has one of its own. */
export const localEnd = '.local'

/** A hash: two documents of one name lie apart, and no name is too long. */
export function documentName(
  dccType: string,
  open: { readonly path?: string; readonly name?: string } | null | undefined,
): string {
  const { path, name = '' } = open ?? {}
  const hash = createHash('sha256')
    .update(`${dccType}\n${path ?? name}`)
    .digest('hex')
    .slice(0, 32)
  return path === undefined ? hash + localEnd : hash
}

export function isDocumentName(name: string): boolean {
  return /^[0-9a-f]{32}(\.local)?$/.test(name)
}

/** A folder below `root` for each document. */
export function documentFolders(root: string, log: Logger): DocumentStores {
  return {
    notes: document => new NoteFolder(join(root, document, 'notes'), log),
    checkpoints: document => new CheckpointFolder(join(root, document, 'checkpoints')),
    async list() {
      const names = await readdir(root).catch((error: unknown) => {
        if (errnoOf(error) === 'ENOENT') return []
        throw new ServiceError('storage_failed', `${root} cannot be read: ${messageOf(error)}`)
      })
      return { documents: names.filter(isDocumentName), others: 0 }
    },
    close() {},
  }
}
