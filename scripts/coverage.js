// Judges the branches that the tests passed, folder by folder of src, by scripts/coverage-floors.json:
//   NODE_V8_COVERAGE=FOLDER npm test && node scripts/coverage.js FOLDER
import { Report } from 'c8'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../src', import.meta.url))
const floors = JSON.parse(readFileSync(new URL('coverage-floors.json', import.meta.url), 'utf8'))
const reportsDirectory = mkdtempSync(join(tmpdir(), 'coverage-'))
const report = new Report({
  tempDirectory: process.argv[2],
  all: true,
  src: [src],
  include: ['src/**'],
  excludeAfterRemap: true,
  reporter: ['json-summary'],
  reportsDirectory,
})
await report.run()
const summary = JSON.parse(readFileSync(join(reportsDirectory, 'coverage-summary.json'), 'utf8'))
rmSync(reportsDirectory, { recursive: true })

const folders = new Map()
for (const [file, { branches }] of Object.entries(summary)) {
  if (file === 'total') continue
  const parts = relative(src, file).split('/')
  const folder = parts[0] === 'commands' ? 'commands' : parts.slice(0, -1).slice(0, 2).join('/')
  const { total, covered } = folders.get(folder) ?? { total: 0, covered: 0 }
  folders.set(folder, { total: total + branches.total, covered: covered + branches.covered })
}
for (const [folder, { total, covered }] of [...folders].sort()) {
  const percent = (100 * covered) / total
  const floor = floors[folder] ?? 0
  const short = percent < floor
  if (short) process.exitCode = 1
  console.log(
    `${percent.toFixed(1).padStart(6)} % of ${total} branches in src/${folder}${short ? `, the floor is ${floor} %` : ''}`,
  )
}
