import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { readBlenderAddon, readPythonClient } from '../../lib/util/adapter-files.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Finding } from './finding.ts'

/** Are the files there that `adapter` writes? */
export async function checkAdapterFiles(): Promise<Finding> {
  const check = 'adapters'
  try {
    await Promise.all([readPythonClient(), readBlenderAddon()])
  } catch (error) {
    const summary = messageOf(error)
    const hint = (error instanceof ServiceError ? error.hint : undefined) ?? 'install it anew'
    return { check, status: 'fail', summary, hint }
  }
  const hint = 'service-cli adapter blender, or service-cli adapter python, writes them'
  return { check, status: 'ok', summary: 'the adapters are there', hint }
}

interface BlenderFacts {
  /** Where the program is; null when it is not in PATH. */
  readonly program: string | null
  /** An instance has Blender connected. */
  readonly connected: boolean
}

/** Somebody who has Blender and sees nothing of it lacks the add-on, more often than not. */
export function judgeBlender({ program, connected }: BlenderFacts): Finding {
  const check = 'blender'
  if (connected) return { check, status: 'ok', summary: 'Blender is connected' }
  if (program === null) return { check, status: 'ok', summary: 'Blender is not in PATH' }
  return {
    check,
    status: 'warn',
    summary: `Blender is installed (${program}), and not connected`,
    hint: 'service-cli adapter blender writes the add-on; in Blender enable it and press Connect',
  }
}

/** The first executable file of this name in PATH. */
export async function findProgram(name: string, path: string | undefined): Promise<string | null> {
  for (const folder of (path ?? '').split(delimiter)) {
    // A relative folder of PATH would be another one for every command.
    if (!isAbsolute(folder)) continue
    const file = join(folder, name)
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return file
  }
  return null
}
