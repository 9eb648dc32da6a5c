"""Datasheet of `credit-adf`: the Credit subject of ADF, 600 rows of German Credit in 20 integer columns.

What: 600 of the 1,000 applicants for a loan at a German bank, 1973 to 1975; the task is to tell good from bad risks.
Licence: CC BY 4.0, as stated by the UCI repository. Cite Hofmann (1994), doi:10.24432/C5NC77, and for the encoding
    Zhang et al. (2020), doi:10.1145/3377811.3380331.
Rows: all 300 bad risks and 300 of the 700 good ones, in the published order, which ROWS lists by row of german.data.
Columns: integers under short names, except that sex is in words: the place of a word in the list of its column is its
    code (`fairlab.data.encoding.codes`). Age in decades, amount in 100 marks. `class`: 1 good, 0 bad.
Quirks: the codebook's code for sex and civil status knows no single women, so sex is 1 for its only code of women (A92)
    and 0 otherwise; whether A92 and A95 were told apart correctly is doubted (Groemping 2019). Purpose code 7 (A47)
    does not occur.
Fit for: repeating published experiments. Unfit for: statements about credit risk or about sex.
Surrogate: see fairlab.data.credit_adf.
"""

from pathlib import Path

import pandas as pd

from fairlab.data.encoding import binned, coded, copied, encode, in_words

COLUMNS = [
    "status", "duration", "history", "purpose", "amount", "savings", "employment", "installment_rate", "sex", "debtors",
    "residence", "property", "age", "other_plans", "housing", "credits", "job", "liable", "telephone", "foreign",
    "class",
]  # fmt: skip
SEXES = ["male", "female"]
RULES = {
    "status": coded("A11", "A12", "A13", "A14"),
    "duration": copied(),
    "history": coded("A30", "A31", "A32", "A33", "A34"),
    "purpose": coded("A40", "A41", "A42", "A43", "A44", "A45", "A46", None, "A48", "A49", "A410"),
    "amount": binned(100),
    "savings": coded("A61", "A62", "A63", "A64", "A65"),
    "employment": coded("A71", "A72", "A73", "A74", "A75"),
    "installment_rate": copied(),
    "sex": coded(A91=0, A92=1, A93=0, A94=0),
    "debtors": coded("A101", "A102", "A103"),
    "residence": copied(),
    "property": coded("A121", "A122", "A123", "A124"),
    "age": binned(10),
    "other_plans": coded("A141", "A142", "A143"),
    "housing": coded("A151", "A152", "A153"),
    "credits": copied(),
    "job": coded("A171", "A172", "A173", "A174"),
    "liable": copied(),
    "telephone": coded("A191", "A192"),
    "foreign": coded("A201", "A202"),
    "class": coded("2", "1"),
}
ROWS = [
    414, 17, 355, 349, 853, 813, 402, 381, 44, 887, 27, 610, 122, 128, 277, 328, 548, 656, 88, 646, 789, 969,
    167, 239, 127, 713, 335, 312, 740, 927, 365, 693, 706, 885, 947, 435, 585, 421, 230, 923, 77, 472, 576, 351,
    899, 930, 604, 446, 485, 380, 358, 517, 823, 213, 793, 617, 998, 818, 512, 316, 290, 597, 900, 107, 448,
    686, 429, 754, 503, 678, 613, 504, 849, 573, 58, 242, 627, 834, 439, 966, 752, 807, 788, 821, 820, 751, 474,
    21, 913, 341, 736, 262, 458, 405, 936, 661, 593, 203, 301, 354, 199, 804, 205, 506, 622, 326, 372, 359, 129,
    756, 780, 475, 228, 454, 323, 994, 92, 108, 80, 601, 246, 992, 812, 929, 580, 647, 940, 797, 106, 248, 135,
    669, 131, 761, 674, 946, 876, 861, 790, 645, 757, 993, 344, 862, 767, 782, 995, 48, 119, 176, 38, 521, 872,
    229, 536, 711, 49, 194, 227, 640, 8, 630, 31, 397, 731, 67, 244, 25, 90, 842, 490, 744, 75, 958, 644, 777,
    325, 338, 869, 515, 746, 368, 125, 182, 422, 774, 850, 499, 836, 957, 337, 52, 175, 320, 500, 612, 655, 482,
    826, 62, 951, 285, 192, 906, 518, 983, 398, 589, 552, 479, 375, 207, 544, 412, 545, 4, 286, 848, 3, 261, 72,
    178, 440, 296, 120, 638, 34, 278, 462, 478, 291, 495, 174, 313, 626, 288, 45, 755, 496, 357, 584, 648, 986,
    460, 737, 432, 76, 840, 334, 260, 431, 739, 722, 559, 578, 720, 598, 374, 491, 362, 649, 954, 590, 822, 265,
    835, 707, 745, 743, 931, 209, 117, 43, 155, 219, 295, 419, 866, 104, 641, 805, 653, 831, 516, 505, 531, 273,
    897, 581, 809, 378, 878, 322, 237, 216, 561, 728, 465, 23, 884, 59, 113, 188, 118, 750, 985, 892, 383, 166,
    501, 170, 180, 274, 235, 689, 718, 184, 315, 924, 222, 470, 83, 522, 54, 333, 890, 535, 796, 981, 771, 18,
    137, 979, 614, 9, 775, 540, 84, 308, 871, 268, 875, 770, 304, 226, 856, 66, 926, 762, 917, 543, 934, 618,
    664, 925, 603, 444, 602, 763, 922, 538, 179, 539, 238, 393, 282, 140, 941, 978, 769, 596, 251, 997, 933,
    195, 528, 972, 217, 488, 452, 696, 557, 988, 47, 759, 905, 729, 146, 631, 996, 416, 935, 619, 980, 257, 624,
    650, 502, 142, 741, 163, 982, 867, 221, 449, 407, 396, 169, 353, 252, 339, 346, 367, 874, 681, 699, 93, 570,
    314, 832, 201, 632, 109, 677, 555, 424, 484, 15, 152, 302, 74, 293, 697, 94, 123, 471, 486, 186, 651, 477,
    952, 29, 151, 944, 721, 392, 605, 642, 413, 156, 911, 240, 560, 114, 220, 607, 635, 583, 864, 915, 417, 126,
    124, 332, 259, 208, 553, 172, 330, 838, 89, 623, 825, 783, 139, 858, 409, 563, 973, 177, 307, 660, 297, 918,
    250, 218, 542, 621, 828, 319, 463, 105, 181, 356, 204, 14, 956, 714, 143, 434, 975, 594, 24, 364, 702, 949,
    690, 569, 289, 566, 611, 480, 507, 157, 765, 948, 303, 147, 361, 281, 588, 232, 727, 41, 461, 457, 529, 190,
    331, 35, 701, 236, 438, 963, 634, 595, 494, 68, 668, 1, 639, 148, 466, 116, 652, 724, 13, 532, 827, 87, 846,
    953, 441, 747, 919, 556, 171, 111, 249, 0, 91, 197, 802, 12, 321, 95, 271, 456, 22, 700, 191, 558, 63, 955,
    819, 56, 768, 510, 586, 11, 916, 562, 914, 513, 10, 587, 391, 264, 336, 206, 803, 37, 938, 896, 292, 212,
    443, 766, 633, 814,
]  # fmt: skip


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return the encoded rows in the published order, sex in words."""
    table = pd.read_csv(raw["german/german.data"], sep=" ", header=None, names=COLUMNS, dtype=str)
    table = encode(table.iloc[ROWS].reset_index(drop=True), RULES)
    return table.assign(sex=in_words(table["sex"], SEXES))


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
