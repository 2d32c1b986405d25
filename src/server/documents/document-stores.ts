import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { namesIn } from '../../lib/config/shared-folder.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { CheckpointFolder } from '../checkpoints/checkpoint-folder.ts'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.ts'
import { NoteFolder } from '../notes/note-folder.ts'
import type { NoteStore } from '../notes/note-store.ts'

/** The notes and checkpoints of all documents, by document name (see `documentName`). */
export interface DocumentStores {
  notes(document: string): NoteStore
  checkpoints(document: string): CheckpointStore
  list(): Promise<DocumentList>
  close(): void
}

interface DocumentList {
  /** Names of the documents that have notes or checkpoints. */
  readonly documents: readonly string[]
  /** Number of documents without a path that belong to other machines or accounts. */
  readonly others: number
}

/** Ends the name of a document without a path, which each account of a machine has for itself. */
export const localSuffix = '.local'

/** Hashes the path, or the name of a document without one: files of one name in two folders stay apart. */
export function documentName(
  dccType: string,
  open: { path?: string; name?: string } | null | undefined,
): string {
  const { path, name = '' } = open ?? {}
  const hash = createHash('sha256')
    .update(`${dccType}\n${path ?? name}`)
    .digest('hex')
    .slice(0, 32)
  return path === undefined ? hash + localSuffix : hash
}

export function isDocumentName(name: string): boolean {
  return /^[0-9a-f]{32}(\.local)?$/.test(name)
}

/** Keeps each document in a folder below `root`. */
export function documentFolders(root: string, log: Logger): DocumentStores {
  return {
    notes: document => new NoteFolder(join(root, document, 'notes'), log),
    checkpoints: document => new CheckpointFolder(join(root, document, 'checkpoints')),
    async list() {
      return { documents: (await namesIn(root, 'the documents')).filter(isDocumentName), others: 0 }
    },
    close() {},
  }
}
