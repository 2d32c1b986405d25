import { expect } from 'chai'
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readConfig, updateConfig } from '../../src/lib/config/config-file.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { exitOf } from '../helpers/program.ts'

const script = join(import.meta.dirname, '../helpers/scripts', 'save-loop.ts')

describe('configuration under many kills', () => {
  it('leaves the old file or the new one', async () => {
    const rounds = Number(process.env['KILL_ROUNDS'] ?? 20)
    // Otherwise no kill hit a save, and nothing was shown.
    expect(await killRounds(join(newFolder(), 'config.toml'), rounds)).to.be.greaterThan(0)
  })
})

/**
 * Kills a process in the middle of its saves, `rounds` times on one file. After each kill the file
 * holds one login as a whole: the last that was acknowledged, or one that was on its way. Returns
 * how many saves were cut in the middle.
 */
async function killRounds(path: string, rounds: number): Promise<number> {
  let leftovers = 0
  let next = 0
  for (let round = 0; round < rounds; round++) {
    const child = spawn(process.execPath, [script, path, String(next)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let looks = 0
    // In the middle of a save, and in some rounds a little later.
    const lines = await killAfterLines(child, 1 + (round % 3), () => {
      if (looks > 0 || isSaving(path)) looks++
      return looks > (round % 4) * 5
    })
    const acknowledged = Number(lines.at(-1))
    leftovers += tempFiles(path)
    const entry = (await readConfig(path)).registries['https://registry.example']
    const saved = Number(/^user-(\d+)$/.exec(entry?.username ?? '')?.[1])
    expect(saved).to.be.within(acknowledged, acknowledged + 1, `round ${round}`)
    expect(entry?.access_token?.reveal()).to.equal(`token-${saved}-${'x'.repeat(20_000)}`)
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    next = saved + 1
  }
  // The next writer takes the lock of the dead one.
  await updateConfig(path, config => ({ ...config, default_registry: 'https://other.example' }))
  return leftovers
}

/** A file on its way, or the file itself not whole. */
function isSaving(path: string): boolean {
  return tempFiles(path) > 0 || statSync(path).size < 20_000
}

function tempFiles(path: string): number {
  return readdirSync(dirname(path)).filter(name => name.endsWith('.tmp')).length
}

/** Kills the script when `now` says so after it wrote `count` lines; tells what it wrote. */
async function killAfterLines(
  child: ChildProcess,
  count: number,
  now: () => boolean,
): Promise<string[]> {
  const { stdout } = child
  if (stdout === null) throw new Error('the script has no output')
  stdout.setEncoding('utf8')
  let text = ''
  for await (const chunk of stdout) {
    text += chunk
    if (text.split('\n').length <= count || child.killed) continue
    // Without a turn of the event loop: what is looked for lasts less than one.
    const deadline = performance.now() + 5000
    while (!now() && performance.now() < deadline) continue
    child.kill('SIGKILL')
  }
  await exitOf(child)
  return text.split('\n').slice(0, -1)
}
