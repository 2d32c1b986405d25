// node scripts/coverage.js SUMMARY: prints the covered branches of each folder of src, from the
// JSON summary of c8. Exits with 1 when one is below its floor in coverage-floors.json.
import { readFileSync } from 'node:fs'

const floors = JSON.parse(readFileSync(new URL('coverage-floors.json', import.meta.url), 'utf8'))
const { total, ...files } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const folders = Map.groupBy(Object.entries(files), ([file]) => {
  const [first, ...rest] = file.slice(file.lastIndexOf('/src/') + '/src/'.length).split('/')
  return first === 'commands' || rest.length < 2 ? first : `${first}/${rest[0]}`
})
const sum = (entries, figure) =>
  entries.reduce((count, [, { branches }]) => count + branches[figure], 0)
for (const [folder, entries] of [...folders].sort()) {
  const percent = (100 * sum(entries, 'covered')) / sum(entries, 'total')
  const floor = floors[folder] ?? 0
  const verdict = percent < floor ? `, below ${floor} %` : ''
  if (percent < floor) process.exitCode = 1
  console.log(`${percent.toFixed(1)} % of the branches in src/${folder}${verdict}`)
}
console.log(`${total.branches.pct} % of all`)
