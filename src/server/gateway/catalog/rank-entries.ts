import type { CatalogEntry } from './catalog-entry.ts'

/** What a word of the query is worth where it is found: as a whole word, its beginning, a part. */
type Weights = readonly [whole: number, beginning: number, part: number]

const nameWeights: Weights = [12, 8, 5]
const applicationWeights: Weights = [10, 6, 2]
const tagWeights: Weights = [9, 6, 3]
const descriptionWeights: Weights = [3, 2, 1]

const wholeNameBonus = 100
/** Further words of a query change nothing. */
const maxTerms = 16

interface Ranked {
  readonly entry: CatalogEntry
  /** Words of the query that the entry has anywhere. */
  readonly matched: number
  readonly score: number
}

/**
 * The entries that have a word of the query, best first: by how many of its words, by where they
 * are found, then by name. Without words: all, by name.
 */
export function rankEntries(entries: readonly CatalogEntry[], query: string): CatalogEntry[] {
  const terms = [...new Set(wordsOf(query))].slice(0, maxTerms)
  if (terms.length === 0) return entries.toSorted(byName)
  return entries
    .map(entry => ranked(entry, terms, query))
    .filter(({ matched }) => matched > 0)
    .toSorted((a, b) => b.matched - a.matched || b.score - a.score || byName(a.entry, b.entry))
    .map(({ entry }) => entry)
}

function ranked(entry: CatalogEntry, terms: string[], query: string): Ranked {
  const fields: [words: string[], weights: Weights][] = [
    [wordsOf(entry.name), nameWeights],
    [applicationsOf(entry).flatMap(wordsOf), applicationWeights],
    [(entry.tags ?? []).flatMap(wordsOf), tagWeights],
    [wordsOf(entry.description), descriptionWeights],
  ]
  const worths = terms.map(term =>
    fields.reduce((sum, [words, weights]) => sum + worth(term, words, weights), 0),
  )
  const isNamed = entry.name.toLowerCase() === query.trim().toLowerCase()
  return {
    entry,
    matched: worths.filter(each => each > 0).length,
    score: worths.reduce((sum, each) => sum + each, isNamed ? wholeNameBonus : 0),
  }
}

/** The worth of the word that fits best: a long description is not better for its length. */
function worth(term: string, words: string[], [whole, beginning, part]: Weights): number {
  let best = 0
  for (const word of words) {
    if (word === term) return whole
    if (word.startsWith(term)) best = Math.max(best, beginning)
    else if (word.includes(term)) best = Math.max(best, part)
  }
  return best
}

function applicationsOf({ dcc = [], targets = [] }: CatalogEntry): string[] {
  return [...dcc, ...targets.map(({ id }) => id)]
}

function wordsOf(text: string): string[] {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '')
}

/** By code unit: the same order on every machine and in every locale. */
function byName({ name: a }: CatalogEntry, { name: b }: CatalogEntry): number {
  return a < b ? -1 : a > b ? 1 : 0
}
