import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errnoOf } from '../errno.ts'
import { configPath } from './paths.ts'
import { writePrivateFile } from './private-file.ts'

type Env = Parameters<typeof configPath>[0]

const text = `service-cli keys create made keys in the usual registry folder, which is emptied when the machine
restarts. As long as this file is there, servers of that folder do not start open when the keys are gone.
`

/** Beside the configuration, which outlasts a restart. */
export function keysMarkPath(env: Env): string {
  return join(dirname(configPath(env)), 'keys-were-made')
}

/** Remembers that the usual registry folder had keys. Throws as `writePrivateFile`. */
export function markKeysMade(env: Env): Promise<void> {
  return writePrivateFile({ path: keysMarkPath(env), onTightened: () => {} }, text)
}

/** What cannot be looked at counts as there: nobody is let in by a fault. */
export async function wereKeysMade(env: Env): Promise<boolean> {
  try {
    await lstat(keysMarkPath(env))
    return true
  } catch (error) {
    const code = errnoOf(error)
    return code !== 'ENOENT' && code !== 'ENOTDIR'
  }
}
