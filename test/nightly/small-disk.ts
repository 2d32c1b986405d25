import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { newFolder } from '../helpers/cleanup.ts'
import { skipBecause } from '../helpers/skip.ts'

/** Runs `use` in a folder that is a disk of `size`, such as `256k`. Skips the test without root. */
export async function onSmallDisk(
  context: Mocha.Context,
  size: string,
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = newFolder()
  const options = `size=${size},mode=700`
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder])
  if (mounted.status !== 0) skipBecause(context, 'mounting a tmpfs needs Linux and root')
  try {
    await use(folder)
  } finally {
    spawnSync('umount', [folder])
  }
}

/** Writes a file until not a byte is left on its disk. */
export function fillUp(path: string): void {
  const file = fs.openSync(path, 'w')
  try {
    for (let piece = 65_536; piece >= 1;) {
      try {
        fs.writeSync(file, Buffer.alloc(piece))
      } catch {
        piece = Math.floor(piece / 2)
      }
    }
  } finally {
    fs.closeSync(file)
  }
}
