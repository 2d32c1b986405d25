import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Capture } from '../../../src/server/capture/backend.ts'
import type { Desktop } from './desktop.ts'

/** How many pixels differ between a picture and the one that ImageMagick takes of the window. */
export async function differingPixels(
  desktop: Desktop,
  { png }: Capture,
  window: string,
  folder: string,
): Promise<number> {
  const [ours, theirs] = [join(folder, 'ours.png'), join(folder, 'theirs.png')]
  await writeFile(ours, png)
  await desktop.run('import', '-silent', '-window', window, theirs)
  return differing(ours, theirs)
}

/** How many pixels differ. `compare` tells it on the error output, and exits with 1 when there is a difference. */
export function differing(one: string, other: string): number {
  const { status, stderr } = spawnSync('compare', ['-metric', 'AE', one, other, 'null:'], {
    encoding: 'utf8',
  })
  if (status !== 0 && status !== 1) throw new Error(`compare: ${stderr}`)
  return Number(stderr.trim().split(' ')[0])
}
