// node scripts/coverage.js SUMMARY: prints the covered branches of each folder of src, from the
// JSON summary of c8. Exits with 1 when one is below its floor in coverage-floors.json.
import { readFileSync } from 'node:fs'

const floors = JSON.parse(readFileSync(new URL('coverage-floors.json', import.meta.url), 'utf8'))
const { total: all, ...files } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const folders = {}
for (const [file, { branches }] of Object.entries(files)) {
  const [first, ...rest] = file.slice(file.lastIndexOf('/src/') + '/src/'.length).split('/')
  const name = first === 'commands' || rest.length < 2 ? first : `${first}/${rest[0]}`
  const folder = (folders[name] ??= { total: 0, covered: 0 })
  folder.total += branches.total
  folder.covered += branches.covered
}
for (const [name, { total, covered }] of Object.entries(folders).sort()) {
  const percent = (100 * covered) / total
  const floor = floors[name] ?? 0
  const verdict = percent < floor ? `, below ${floor} %` : ''
  if (percent < floor) process.exitCode = 1
  console.log(`${percent.toFixed(1)} % of the branches in src/${name}${verdict}`)
}
console.log(`${all.branches.pct} % of all`)
