/** The two forms of a gateway; what the specification says holds for both. */
export const gatewayForms = [
  { form: 'without --aggregate', aggregate: false, flags: [] },
  { form: 'with --aggregate', aggregate: true, flags: ['--aggregate'] },
] as const
