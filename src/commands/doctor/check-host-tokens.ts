import { lstat } from 'node:fs/promises'
import { counted } from '../../lib/util/amounts.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { recordFile } from '../../lib/instances/files.ts'
import { readRecordFile } from '../../lib/instances/record-files.ts'
import type { Finding } from './finding.ts'

interface RunningInstance {
  readonly instanceId: string
  readonly shortId: string
  readonly name: string
}

/** Checks that the host token file of every running instance exists. Reads no token. */
export async function checkHostTokens(
  instancesDir: string,
  instances: RunningInstance[],
): Promise<Finding> {
  const check = 'host_tokens'
  const problems = await Promise.all(
    instances.map(async ({ instanceId, shortId, name }) => {
      const found = await readRecordFile(recordFile(instancesDir, instanceId)).catch(() => null)
      // None for a token of the environment, and for a record that ended meanwhile.
      const file = found?.record.host_token_file ?? null
      const problem = file === null ? null : await problemOf(file)
      return problem === null ? [] : [`${name} (${shortId}): ${file} ${problem}`]
    }),
  )
  const details = problems.flat()
  if (details.length === 0) {
    return { check, status: 'ok', summary: 'all host token files exist' }
  }
  return {
    check,
    status: 'warn',
    summary: `${counted(details.length, 'host token file')} missing or unreadable`,
    details,
    hint: 'serve restores a generated token file within seconds; restore the file of --host-token-file yourself',
  }
}

async function problemOf(file: string): Promise<string | null> {
  try {
    return (await lstat(file)).size === 0 ? 'is empty' : null
  } catch (error) {
    const errno = errnoOf(error)
    return errno === 'ENOENT' ? 'is missing' : `cannot be accessed (${errno ?? 'unknown error'})`
  }
}
