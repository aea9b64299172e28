/** What JavaScript's patterns have and RE2, the API server's, does not. */
const NOT_RE2: readonly { readonly syntax: RegExp; readonly name: string }[] = [
  { syntax: /\(\?<?[=!]/, name: 'look-around' },
  { syntax: /\\[1-9]|\\k</, name: 'a back reference' },
  { syntax: /\\[cpPu]/, name: 'an escape (\\c, \\p, \\u) that RE2 reads otherwise or not at all' },
  { syntax: /\{(\d{4,}|\d*,\d{4,})\}/, name: 'a count above 999' },
];

/** Why the API server would not accept `pattern`, or would read it differently. */
export function patternProblems(pattern: string): readonly string[] {
  const withoutEscapedBackslashes = pattern.replaceAll('\\\\', '');
  return NOT_RE2.filter(({ syntax }) => syntax.test(withoutEscapedBackslashes)).map(
    ({ name }) => `the pattern has ${name}; use a plain pattern, minLength and maxLength, or a CEL rule`,
  );
}
