"""The words of the patterns in `memory_rules.py`: relations, animals, trades and the like; pure."""

RELATIONS = (
    "wife|husband|partner|girlfriend|boyfriend|fiancée?|son|daughter|mother|mum|mom|father|dad|brother|sister|"
    "grandmother|grandfather|boss|manager|dog|cat|horse|parrot|hamster|rabbit|best friend|roommate|baby"
)
DIETS = "vegan|vegetarian|pescatarian|lactose intolerant|gluten intolerant|coeliac|celiac|diabetic|halal|kosher"
TRADES = (
    r"\w*(?:developer|engineer|teacher|nurse|doctor|designer|student|lawyer|scientist|researcher|writer|"
    r"journalist|accountant|architect|chef|cook|carpenter|farmer|photographer|musician|translator|pensioner|manager|"
    r"electrician|plumber|librarian|pharmacist|dentist|therapist|programmer|artist|professor)"
)
TIMES = "later|back|tomorrow|today|tonight|when|if|at|on|once|after|before|maybe|again|now|anytime|soon|a|an|the|it"
COUNTS = r"(?:a|an|one|two|three|four|five|six|seven|\d{1,2})"
# The animals themselves, not their cheese: what follows must not make them part of another noun.
ANIMALS = (
    "(?:cats?|dogs?|pupp(?:y|ies)|kittens?|horses?|pon(?:y|ies)|donkeys?|goats?|sheep|cows?|pigs?|chickens|hens|ducks|geese|"
    "rabbits?|hamsters?|guinea\\s+pigs?|parrots?|budgies|snakes?|tortoises?|(?:gold)?fish|bees)"
    r"(?=\s*(?:[.,;:!?]|$)|\s+(?:and|or|but|called|named|that|which|who|with|from|at|in|on|as|for|to)\b)"
)
VERBS = {
    "play": "plays",
    "speak": "speaks",
    "teach": "teaches",
    "study": "studies",
    "drive": "drives",
    "collect": "collects",
    "use": "uses",
}
PASTIMES = {
    "garden": "gardens",
    "cook": "cooks",
    "bake": "bakes",
    "run": "runs",
    "swim": "swims",
    "cycle": "cycles",
    "hike": "hikes",
    "paint": "paints",
    "draw": "draws",
    "knit": "knits",
    "sing": "sings",
    "dance": "dances",
    "fish": "fishes",
    "read": "reads",
    "travel": "travels",
    "volunteer": "volunteers",
}
OFTEN = (
    r"(?:a\s+lot|often|regularly|daily|weekly|every\s+\w+|most\s+\w+|on\s+(?:\w+days?|weekends)|"
    r"in\s+my\s+(?:free|spare)\s+time|for\s+fun|once|twice|\w+\s+times)\b"
)
ABLE = "sleep|walk|run|work|sit|stand|bend|lift|drive|kneel|climb|eat|hear|see|concentrate"
PAINS = (
    r"(?:headaches?|migraines?|toothache|backache|stomach\s?ache|"
    r"(?:back|knee|neck|shoulder|chest|joint|hip)\s+pain|pains?)"
)
PARTS = (
    "knees?|back|neck|head|shoulders?|foot|feet|hands?|"
    "arms?|legs?|hips?|tooth|teeth|stomach|throat|ankles?|wrists?|elbows?"
)
