import { join } from 'node:path'
import { readPrivateFile } from '../config/private-file.ts'
import { Secret } from '../util/secret.ts'

/** The files of one instance in `<registry_dir>/instances`. */

export function recordFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.json`)
}

/** Where the generated token of an instance lies. */
export function tokenFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.token`)
}

/** Where the token lies with which commands of the same account use the server of an instance. */
export function ownerFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.owner`)
}

/** Null when there is no such token, or its file is not private to this user. */
export async function readOwnerToken(file: string): Promise<Secret | null> {
  const text = await readPrivateFile(file).catch(() => null)
  return text ? new Secret(text) : null
}
