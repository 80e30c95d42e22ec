const WORDS: Readonly<Record<string, string>> = {
  "data-source": "Data sources",
  transform: "Transform",
  algorithm: "Algorithms",
  script: "Scripts",
  evaluate: "Evaluate",
  register: "Register",
  deploy: "Deploy",
};

/** In the order in which a flow uses them. */
export const CATEGORIES: readonly string[] = Object.keys(WORDS);

export function categoryWords(category: string): string {
  return WORDS[category] ?? category;
}
