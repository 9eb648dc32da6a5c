"""The gradebook of a course for teachers, Moodle and Canvas: points, late days, warnings, texts that are alike."""

from itertools import combinations
from math import ceil
from pathlib import Path

import nbformat
import pandas as pd
from nbgrader.plugins import ExportPlugin, LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from sklearn.feature_extraction.text import TfidfVectorizer
from traitlets import Float, Integer, List

from fairlab.labs.course import cards
from fairlab.labs.grading import WARNINGS, restore_cells
from fairlab.labs.masters import marks, read

UNGRADED = "Handed in but not graded: see the messages of nbgrader autograde."
EARLIER = "An earlier version was graded with {:g} points, which no longer count."
OTHER_NAME = "Not graded, as no notebook of the lab has this name: {}."
REPLACED = "The points are for other answers than those handed in now; run nbgrader autograde {} --force --student={}."
DAY = 86_400  # seconds
ALIKE, MIN_WORDS = 0.5, 30  # share of common phrases from which on two submissions are reported, and their length


class LateDays(LateSubmissionPlugin):
    """Take a part of the points for each day late, also for one that has only begun.

    Attributes
    ----------
    per_day : float
        This part.
    free_days : int
        Days that cost nothing.
    """

    per_day = Float(0.1).tag(config=True)
    free_days = Integer(0).tag(config=True)

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        """Return the points to take."""
        return score * min(1, self.per_day * max(0, ceil(total_seconds_late / DAY) - self.free_days))


class LatePenalties(AssignLatePenalties):
    """Assign the penalties again, after grading by hand."""

    display_data_priority = List().tag(config=True)  # nbconvert sets it on each step before a page


class Platforms(ExportPlugin):
    """Write ``grades.csv`` and ``alike.csv`` for teachers, ``moodle.csv`` and ``canvas.csv`` to import.

    A lab that nobody handed in is left out, and who did not hand in a lab gets no grade for it, rather than 0.
    """

    def export(self, gradebook):
        """Write the files to the folder that ``--to`` names, or to ``grades``."""
        folder, late, course = Path(self.to or "grades"), LateDays(parent=self), self.parent.coursedir
        titles = {card.assignment: f"Lab {card.number}: {card.title}" for card in cards()}
        rows, alike, maximum, submitted = [], [], {}, Path(course.root, course.submitted_directory)
        for lab in gradebook.assignments:
            title, texts = titles.get(lab.name, lab.name), {}
            known = {f"{notebook.name}.ipynb" for notebook in lab.notebooks}
            graded = {each.student_id: each for each in lab.submissions}
            handed_in = {path.parent.name for path in submitted.glob(f"*/{lab.name}")}
            for who in sorted(handed_in | set(graded)):
                maximum[title], row, said = lab.max_score, {"lab": title, "student": who}, [UNGRADED]
                if notebooks := self._notebooks(graded[who]) if who in graded else []:
                    said = [each for own, _ in notebooks.values() for each in own.metadata[WARNINGS]]
                    score, seconds = graded[who].score, max(0, graded[who].total_seconds_late)
                    texts[who] = " ".join(own_text(*each) for each in notebooks.values())
                    if any(is_replaced(Path(submitted, who, lab.name, name), *of) for name, of in notebooks.items()):
                        said.append(REPLACED.format(lab.name, who))
                    row |= {
                        "points": score - late.late_submission_penalty(who, score, seconds),
                        "of": lab.max_score,
                        "late_days": ceil(seconds / DAY),
                        "to_grade_by_hand": graded[who].needs_manual_grade,
                    }
                elif who in graded and graded[who].score:
                    said.append(EARLIER.format(graded[who].score))
                if others := {file.name for file in Path(submitted, who, lab.name).glob("*.ipynb")} - known:
                    said.append(OTHER_NAME.format(", ".join(sorted(others))))
                rows.append(row | {"warnings": " ".join(dict.fromkeys(said))})
            alike += [{"lab": title, **pair} for pair in pairs_alike(texts)]
        columns = ["lab", "student", "points", "of", "late_days", "to_grade_by_hand", "warnings"]
        table = pd.DataFrame(rows, columns=columns).set_index(["lab", "student"])
        names = ["id", "last_name", "first_name", "lms_user_id"]
        people = pd.DataFrame([[getattr(each, name) for name in names] for each in gradebook.students], columns=names)
        people = people.set_index("id").rename_axis("student")
        people = people.reindex(people.index.union(table.index.unique("student"), sort=False)).fillna("")
        points = table["points"].round(2).unstack("lab").reindex(index=people.index, columns=maximum)
        every = pd.MultiIndex.from_product([maximum, people.index], names=table.index.names)
        said = table.astype({"points": object}).fillna({"points": "not graded"}).reindex(every)
        said = said.fillna({"points": "not submitted", "warnings": ""})
        folder.mkdir(parents=True, exist_ok=True)
        said.to_csv(folder / "grades.csv")
        pd.DataFrame(alike, columns=["lab", "student", "other", "alike"]).to_csv(folder / "alike.csv", index=False)
        # Moodle: "-" is no grade, and the column Username is never empty, as a user's other names may be.
        user = people[["first_name", "last_name"]].set_axis(["First name", "Last name"], axis=1)
        user.join(points).rename_axis("Username").to_csv(folder / "moodle.csv", na_rep="-")
        # Canvas: these four columns in this order, the points that are possible in the second row; empty is no grade.
        name = (people["last_name"] + ", " + people["first_name"]).str.strip(", ")
        user = pd.DataFrame({"Student": name.where(name != "", people.index), "ID": people["lms_user_id"]})
        user = user.assign(**{"SIS Login ID": people.index, "Section": ""})
        possible = pd.DataFrame([["    Points Possible", "", "", "", *maximum.values()]])
        canvas = pd.concat([possible.set_axis([*user, *maximum], axis=1), user.join(points)])
        canvas.to_csv(folder / "canvas.csv", index=False)
        for (lab, who), row in said[said["warnings"] != ""].iterrows():
            self.log.warning("%s, %s: %s", who, lab, row["warnings"])
        if by_hand := [f"{who} ({lab})" for (lab, who), row in said.iterrows() if row["to_grade_by_hand"] is True]:
            text = "The points in moodle.csv and canvas.csv exclude answers still to be graded by hand: %s"
            self.log.warning(text, ", ".join(by_hand))
        self.log.info("Wrote grades.csv, alike.csv, moodle.csv and canvas.csv to %s", folder)

    def _notebooks(self, submission) -> dict[str, tuple]:
        """Return each notebook of a submission as it was graded and as it was released; none if grading failed."""
        course, lab = self.parent.coursedir, submission.assignment.name
        folders = (course.autograded_directory, submission.student_id), (course.release_directory, ".")
        folders = [Path(course.format_path(folder, who, lab)) for folder, who in folders]
        names = [f"{each.name}.ipynb" for each in submission.notebooks if (folders[0] / f"{each.name}.ipynb").exists()]
        return {name: tuple(read(folder / name) for folder in folders) for name in names}


def is_replaced(handed_in: Path, graded, released) -> bool:
    """Return whether a notebook is handed in with other answers than were graded; nbgrader skips it without a time."""
    if not handed_in.exists():
        return False
    try:
        now, _ = restore_cells(nbformat.read(handed_in, as_version=4), released)
    except Exception:  # what was a notebook when it was graded is none now
        return True
    return answers(now) != answers(graded)


def answers(notebook) -> list[str]:
    """Return what stands in the cells for answers."""
    return [cell.source for cell in notebook.cells if marks(cell).get("solution")]


def own_text(graded, released) -> str:
    """Return what a student wrote: free-text answers, and code that a test refused; right code is alike anyhow."""
    given = {line.strip() for cell in released.cells for line in cell.source.splitlines()}
    texts, answer = [], ""
    for cell in graded.cells:
        if marks(cell).get("solution"):
            answer = cell.source
        failed = any(output.output_type == "error" for output in cell.get("outputs", ()))
        if marks(cell).get("grade") and (marks(cell).get("solution") or failed):
            texts += [line.strip() for line in answer.splitlines() if line.strip() not in given]
    return " ".join(texts)


def pairs_alike(texts: dict[str, str]) -> list[dict]:
    """Return the pairs of students whose texts share phrases of three words, with the share, the largest first."""
    students = [student for student, text in texts.items() if len(text.split()) >= MIN_WORDS]
    if len(students) < 2:
        return []
    phrases = TfidfVectorizer(ngram_range=(3, 3), token_pattern=r"\S+").fit_transform(map(texts.get, students))
    shared = pd.DataFrame((phrases @ phrases.T).toarray(), students, students)
    pairs = ({"student": a, "other": b, "alike": round(shared.loc[a, b], 2)} for a, b in combinations(students, 2))
    return sorted((pair for pair in pairs if pair["alike"] >= ALIKE), key=lambda pair: -pair["alike"])
