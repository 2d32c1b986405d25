import { expect } from 'chai'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import {
  background,
  hasPrograms,
  insideBlender,
  installAddon,
  type InstalledAddon,
} from '../helpers/blender.ts'
import { skipBecause } from '../helpers/skip.ts'

/** Each is a file of Python tests that runs inside Blender, with the add-on as it is installed. */
const suites: readonly [file: string, about: string][] = [
  ['pure.py', 'rounds, names, cuts and scales as its decisions say'],
  ['lifecycle.py', 'connects only when asked and leaves nothing behind'],
  ['snapshot_facts.py', 'says what is in the scene, also when there is too much of it'],
  ['identities.py', 'knows which object is which'],
  ['changes_seen.py', 'notices what happens, once'],
  ['random_changes.py', 'tells after any changes what a fresh look finds'],
]

describe('the Blender add-on, installed from its zip', function () {
  this.timeout(120_000)
  let addon: InstalledAddon

  before(async function () {
    if (!hasPrograms('blender')) {
      skipBecause(this, 'blender is not installed (Debian: apt-get install blender)')
    }
    addon = await installAddon()
  })
  after(async () => addon?.remove())

  for (const [file, about] of suites) {
    it(`${about} (${file})`, async () => {
      const folder = await mkdtemp(join(addon.folder, 'files-'))
      const run = addon.run([...background, '--python', join(insideBlender, file), '--', folder])
      expect(await run.exited, run.output()).to.equal(0)
      expect(run.output()).to.match(/^Ran \d+ tests? in/m)
    })
  }
})
