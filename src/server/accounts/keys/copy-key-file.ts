import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { readKeyFile, writeKeyFile } from './key-file.ts'
import { parseKeyRing } from './parse-key-ring.ts'

/** The text of a whole key file; null when there is none. Throws `config_invalid` for another. */
export async function readKeyText(file: string, log: Logger): Promise<string | null> {
  const found = await readKeyFile(file, log)
  if (found === null) return null
  const parsed = await parseKeyRing(found.text)
  if (parsed.ok) return found.text
  throw new ServiceError('config_invalid', `the key file ${file} ${parsed.failure}`, {
    hint: 'use another copy of it, or go without: everybody logs in again then',
  })
}

/** As `writeKeyFile`, read again: what is there is what was meant. */
export async function writeKeyText(file: string, text: string, log: Logger): Promise<void> {
  await writeKeyFile(file, text)
  if ((await readKeyText(file, log)) === text) return
  throw new ServiceError('storage_failed', `${file} does not hold what was written to it`, {
    hint: 'check its disk',
  })
}
