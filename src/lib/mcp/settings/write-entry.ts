import { type Clock, toRfc3339 } from '../../util/time.ts'
import { ServiceError, unusableFile } from '../../util/errors.ts'
import type { Result } from '../../util/result.ts'
import type { ClientFile } from './client.ts'
import type { Change } from './decide-entry.ts'
import {
  type MergeRefusal,
  type MergedSettings,
  type WantedEntry,
  mergeSettings,
  newSettings,
} from './merge-settings.ts'
import { pasteHint, readSettingsFile, replaceSettingsFile } from './settings-file.ts'

export interface WrittenEntry {
  readonly change: Change
  /** The file that was chosen among those that the client reads. */
  readonly path: string
  /** The copy of the old content; null for a new or unchanged file. */
  readonly backup: string | null
}

export interface WriteEntryParts {
  readonly file: ClientFile
  readonly wanted: WantedEntry
  readonly force: boolean
  readonly isPrivate: boolean
  readonly clock: Clock
}

/** Attempts when the client writes its file at the same time. */
const maxAttempts = 5

/**
 * Merges the entry into the settings file of the client. Throws `config_invalid` for a file that
 * cannot be edited safely, `entry_exists` for an entry of another server, `config_busy` when
 * another program keeps writing, and the errors of `replaceSettingsFile`. After an error the file
 * is unchanged.
 */
export async function writeEntry(parts: WriteEntryParts): Promise<WrittenEntry> {
  const { wanted, force, isPrivate, clock } = parts
  const file = await firstExisting(parts.file)
  const { path } = file
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const found = await readSettingsFile(file)
    const merged: Result<MergedSettings, MergeRefusal> =
      found === null
        ? { ok: true, value: { change: 'added', text: newSettings(wanted) } }
        : mergeSettings(decode(path, found.bytes), wanted, force)
    if (!merged.ok) throw explain(path, wanted, merged.failure)
    const { change, text } = merged.value
    if (change === 'unchanged') return { change, path, backup: null }
    const backup = `${path}.${stamp(clock)}${attempt === 0 ? '' : `-${attempt}`}.bak`
    if (await replaceSettingsFile(file, { text, found, backup, isPrivate })) {
      return { change, path, backup: found === null ? null : backup }
    }
  }
  throw new ServiceError('config_busy', `${path} is being written by another program`, {
    hint: 'close the client, then run the command again',
  })
}

async function firstExisting(file: ClientFile): Promise<ClientFile> {
  for (const candidate of [file, ...(file.instead ?? [])]) {
    if ((await readSettingsFile(candidate)) !== null) return candidate
  }
  return file
}

/** `20261121T165442.123Z`: sorts by time and is valid in file names everywhere. */
function stamp(clock: Clock): string {
  return toRfc3339(clock.now()).replaceAll(/[-:]/g, '')
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unusableFile(path, 'is not UTF-8', pasteHint)
  }
}

function explain(path: string, { name }: WantedEntry, refusal: MergeRefusal): ServiceError {
  const place = `${path} has an entry ${JSON.stringify(name)}`
  switch (refusal.kind) {
    case 'malformed': {
      const { what, line, column } = refusal.fault
      return unusableFile(
        `${path}:${line}:${column}`,
        what,
        'correct it, or paste the entry yourself',
      )
    }
    case 'shape':
      return unusableFile(
        path,
        refusal.member === null
          ? 'does not contain an object'
          : `has an unexpected value under "${refusal.member}"`,
        pasteHint,
      )
    case 'unfaithful':
      return unusableFile(path, 'cannot be edited safely', pasteHint)
    case 'other_address':
      return new ServiceError(
        'entry_exists',
        `${place} that leads to ${refusal.address ?? 'something else'}`,
        { hint: 'choose another --name, or add --force to replace it' },
      )
    case 'differs':
      return new ServiceError(
        'entry_exists',
        `${place} for this server with another ${refusal.members.join(', ')}`,
        { hint: 'choose another --name, or add --force to change it' },
      )
  }
}
