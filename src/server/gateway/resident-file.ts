import { constants } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../../lib/errno.ts'
import { noFollow, noWait, ownUid } from '../../lib/posix.ts'
import { maxResidentBytes, parseResident, type Resident, residentJson } from './resident.ts'

/**
 * What the gateway on a port wrote of itself into the folder that only this user can change: proof
 * of which process it is, also while it answers nobody. Removed by a gateway that yields, left by
 * one that dies.
 */
export function residentFile(registryDir: string, port: number): string {
  return join(registryDir, `gateway-${port}.json`)
}

export async function writeResidentFile(path: string, resident: Resident): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    await writeFile(temporary, `${JSON.stringify(residentJson(resident))}\n`, { mode: 0o600 })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}

/** Null where there is none of this user, or none that can be understood. */
export async function readResidentFile(path: string): Promise<Resident | null> {
  try {
    const file = await open(path, constants.O_RDONLY | noFollow | noWait)
    try {
      const found = await file.stat()
      const uid = ownUid()
      if (!found.isFile() || found.size > maxResidentBytes) return null
      if (uid !== null && found.uid !== uid) return null
      return parseResident(await file.readFile('utf8'))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === null) throw error
    return null
  }
}

/** Only its own: the port may have a new gateway. */
export async function removeResidentFile(path: string, instanceId: string): Promise<void> {
  const found = await readResidentFile(path)
  if (found?.instanceId === instanceId) await rm(path, { force: true }).catch(() => {})
}
