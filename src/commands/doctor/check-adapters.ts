import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { readBlenderAddon, readPythonClient } from '../adapter/adapter-files.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import type { Finding } from './finding.ts'

/** Checks that the files that `adapter` writes are installed. */
export async function checkAdapterFiles(): Promise<Finding> {
  const check = 'adapters'
  try {
    await Promise.all([readPythonClient(), readBlenderAddon()])
  } catch (error) {
    const summary = messageOf(error)
    const hint = (error instanceof ServiceError ? error.hint : undefined) ?? 'reinstall service-cli'
    return { check, status: 'fail', summary, hint }
  }
  const hint = 'service-cli adapter blender, or service-cli adapter python, writes them'
  return { check, status: 'ok', summary: 'the adapters are installed', hint }
}

interface BlenderFacts {
  /** An instance runs; else Blender has nothing to connect to. */
  readonly hasServer: boolean
  /** The path of the program; null when it is not in PATH. */
  readonly program: string | null
  /** An instance has Blender connected. */
  readonly connected: boolean
  /** A running instance had it connected: its add-on is installed. */
  readonly wasConnected: boolean
}

/** Reports an installed Blender that is not connected: usually the add-on is missing. */
export function judgeBlender({
  hasServer,
  program,
  connected,
  wasConnected,
}: BlenderFacts): Finding {
  const check = 'blender'
  if (connected) return { check, status: 'ok', summary: 'Blender is connected' }
  if (wasConnected)
    return { check, status: 'ok', summary: 'Blender was connected, so it has the add-on' }
  if (program === null) return { check, status: 'ok', summary: 'Blender is not in PATH' }
  const start = hasServer ? '' : 'start a server: service-cli serve --dcc-type blender; then, '
  return {
    check,
    status: 'warn',
    summary: `Blender is installed (${program}) but not connected`,
    hint: `${start}in Blender, press Connect; service-cli adapter blender writes the add-on if it is missing`,
  }
}

/** The first executable file of this name in PATH. */
export async function findProgram(name: string, path: string | undefined): Promise<string | null> {
  for (const folder of (path ?? '').split(delimiter)) {
    // A relative folder depends on the working folder.
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
