// What scripts say, in the language of the page. The texts of a language other than that of the sources come with the
// page, in a script of their own before this one.
const { texts = {}, forms = ["one", "other"] } = globalThis.commonplaceWords ?? {};
const language = document.documentElement.lang || "en";
const numberFormat = new Intl.NumberFormat(language === "en" ? "en-GB" : language);
const pluralRules = new Intl.PluralRules(language);

const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_place, name) => values[name]);

export const number = (value) => numberFormat.format(value);

/** A text, with values in the places named in it. */
export function t(text, values = {}) {
  return fill(texts[text] ?? text, values);
}

/** A text about a number of things, which is in it as %(num)s. */
export function tn(one, many, count, values = {}) {
  const translation = texts[one];
  const index = forms.indexOf(pluralRules.select(count));
  const text = translation ? translation[index < 0 ? forms.length - 1 : index] : count === 1 ? one : many;
  return fill(text, { num: number(count), ...values });
}
